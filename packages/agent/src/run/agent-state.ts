import { readContext } from "@bonsai-agent/compaction";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import { type AskedThinking, askedThinking } from "@bonsai-agent/models/host";
import type { AgentParts } from "./agent-parts.ts";
import type { QueuedInput } from "./queue.ts";

/** How full the context is. */
interface ContextUsage {
  /** In the next request, by the last usage where that can be trusted. */
  tokens: number;
  /** Absent where the model's window is unknown. */
  windowTokens?: number | undefined;
  /** Share of the window, 0 to 100 and above. */
  percent?: number | undefined;
  /** True when no usage that the provider reported can be trusted: after a compaction, before the first answer. */
  isEstimate: boolean;
  /** The estimated part of `tokens`: all of it, or what came after the last answer. */
  estimatedTokens: number;
}

/** The state of an agent, for front ends. */
export interface AgentState {
  /** As in the header of its file. */
  sessionId: string;
  /** Absolute; undefined for a session in memory. */
  sessionFile: string | undefined;
  /** Read from the file when it is asked for: the first time, that takes time in a long session. */
  readonly sessionName: string | undefined;
  /** The entry that the next one hangs on; null in an empty session. */
  leafId: string | null;
  /** As `Agent.model`. */
  model: CatalogueModel;
  /** As `setThinking` was last given it; another model may be asked for it again. */
  thinking: ThinkingLevel;
  /** The request for thinking at that level; undefined if the request says nothing about it. */
  askedThinking: AskedThinking | undefined;
  /** True while anything is going on. */
  isBusy: boolean;
  /** True while a compaction is under way. */
  isCompacting: boolean;
  /** Texts that wait for the next request, oldest first. */
  steering: readonly QueuedInput[];
  /** Texts that wait for the end of the run, oldest first. */
  followUps: readonly QueuedInput[];
  /** Counted when it is asked for: where no answer has reported it, that takes time in a long session. */
  readonly context: ContextUsage;
}

export function stateOf(parts: AgentParts, doing: Pick<AgentState, "isBusy" | "isCompacting">): AgentState {
  const { session, selection, queue } = parts;
  return {
    sessionId: session.id,
    sessionFile: session.file,
    get sessionName() {
      return session.name;
    },
    leafId: session.leafId,
    model: selection.model,
    thinking: selection.thinking,
    askedThinking: askedThinking(selection.model, selection.thinking),
    ...doing,
    steering: [...queue.texts("steer")],
    followUps: [...queue.texts("followUp")],
    get context() {
      return contextUsage(parts);
    },
  };
}

export function contextUsage({
  session,
  settings,
  selection,
  overheadTexts,
}: Pick<AgentParts, "session" | "settings" | "selection" | "overheadTexts">): ContextUsage {
  const { tokens, source, trailingTokens } = readContext({
    session,
    estimator: settings.compaction.estimator,
    fixedTexts: overheadTexts,
    model: selection.model,
  });
  const windowTokens = selection.model.contextWindow || undefined;
  return {
    tokens,
    windowTokens,
    percent: windowTokens === undefined ? undefined : (tokens / windowTokens) * 100,
    isEstimate: source === "estimate",
    estimatedTokens: trailingTokens,
  };
}
