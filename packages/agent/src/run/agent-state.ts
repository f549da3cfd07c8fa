import { readContext } from "@bonsai-agent/compaction";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import { askedThinking } from "@bonsai-agent/models/host";
import type { AgentParts } from "./agent-parts.ts";
import type { QueuedInput } from "./queue.ts";

/** How full the context is. */
interface ContextUsage {
  /** Tokens of the next request, by the last usage if that can be trusted. */
  tokens: number;
  /** Absent if the model's window is unknown. */
  windowTokens?: number | undefined;
  /** Share of the window, 0 to 100 and above. */
  percent?: number | undefined;
  /** True when no usage that the provider reported can be trusted: after a compaction, before the first answer. */
  isEstimate: boolean;
  /** The estimated part of `tokens`: all of it, or the tokens after the last answer. */
  estimatedTokens: number;
}

/** The state of an agent, for front ends. */
export interface AgentState {
  /** As in the header of its file. */
  sessionId: string;
  /** Absolute; undefined for a session in memory. */
  sessionFile: string | undefined;
  /** Read from the file at the first access, which takes time in a long session. */
  readonly sessionName: string | undefined;
  /** The parent of the next entry; null in an empty session. */
  leafId: string | null;
  /** As `Agent.model`. */
  model: CatalogueModel;
  /** The level that was last set. It also applies to the next model. */
  thinking: ThinkingLevel;
  /** The request for thinking at that level; undefined if the request says nothing about it. */
  askedThinking: ReturnType<typeof askedThinking>;
  /** True while anything is going on. */
  isBusy: boolean;
  /** True while a compaction is under way. */
  isCompacting: boolean;
  /** Texts that wait for the next request, oldest first. */
  steering: readonly QueuedInput[];
  /** Texts that wait for the end of the run, oldest first. */
  followUps: readonly QueuedInput[];
  /** Counted at each access, which takes time in a long session without reported usage. */
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

export function contextUsage(parts: AgentParts): ContextUsage {
  const { session, overheadTexts: fixedTexts } = parts;
  const { model } = parts.selection;
  const { estimator } = parts.settings.compaction;
  const reading = readContext({ session, estimator, fixedTexts, model });
  const { tokens, source, trailingTokens } = reading;
  const windowTokens = model.contextWindow || undefined;
  return {
    tokens,
    windowTokens,
    percent: windowTokens === undefined ? undefined : (tokens / windowTokens) * 100,
    isEstimate: source === "estimate",
    estimatedTokens: trailingTokens,
  };
}
