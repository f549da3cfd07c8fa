import type { SourceMessage } from "./source.ts";

/** A command whose last run failed. */
export interface FailedCommand {
  /** What makes two runs the same command: without directory changes, redirections, filters and time limits. */
  key: string;
  /** The decisive line of its output; empty where there is none. */
  line: string;
  entryId?: string | undefined;
}

/** Something that was done and cannot be taken back: a push, a tag, a release, a deletion, a migration. */
export interface IrreversibleCommand {
  command: string;
  /** How often. */
  times: number;
  /** Of the last time. */
  entryId?: string | undefined;
}

export interface Todo {
  text: string;
  entryId?: string | undefined;
}

/** What the commands and to-do lists of a span came to: data that a later span goes on from. Each oldest first. */
export interface Outcomes {
  failing: readonly FailedCommand[];
  irreversible: readonly IrreversibleCommand[];
  openTodos: readonly Todo[];
}

export const noOutcomes: Outcomes = { failing: [], irreversible: [], openTodos: [] };

/**
 * The outcomes after some more messages.
 * @param following what comes after them and is not part of the span: it mends and ticks off, but adds nothing
 */
export function outcomesAfter(
  earlier: Outcomes,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[] = [],
): Outcomes {
  return messages.length + following.length === 0 ? earlier : noOutcomes;
}
