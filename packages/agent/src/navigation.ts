import { digestSummariser, type Navigation, navigateTree } from "@bonsai-agent/compaction";
import type { Workplace } from "./workplace.ts";

export interface NavigateOptions {
  /** Take a summary of the branch that is left along. Default false. */
  summarise?: boolean;
  /** The built-in digest summarises, also where there is a model. Default false. */
  useDigest?: boolean;
  /** What that summary should dwell on. */
  focus?: string;
  /** The focus takes the place of the instructions. Default false. */
  replaceInstructions?: boolean;
  /** Put on the summary of the branch, else on the target, also where that is where one is. An extension's counts more. */
  label?: string;
  signal?: AbortSignal;
}

/** Moves to another place in the tree; a model summarises where there is one. */
export function navigate(
  work: Workplace,
  targetId: string,
  { summarise = false, useDigest = false, focus, replaceInstructions, label, signal }: NavigateOptions,
): Promise<Navigation> {
  const { session, settings, selection, summariser, events } = work;
  return navigateTree({
    session,
    targetId,
    settings: settings.compaction,
    summarise,
    summariser: useDigest ? digestSummariser() : summariser,
    model: selection.model,
    lifecycle: events.forCompaction,
    ...(focus === undefined ? {} : { focus }),
    ...(replaceInstructions === undefined ? {} : { replaceInstructions }),
    ...(label === undefined ? {} : { label }),
    ...(signal === undefined ? {} : { signal }),
  });
}
