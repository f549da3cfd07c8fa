import {
  budgetsFor,
  type CompactionReason,
  type CompactionResult,
  type CompactionSettingsInput,
  compactionSettings,
  readContext,
  runCompaction,
  thresholdTokens,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { formatOf, type MessageFormat } from "./formats.ts";
import { ListSession } from "./list-session.ts";
import { MessageList } from "./message-list.ts";
import { type CompactState, checkedState } from "./state.ts";
import { type SummaryFunction, type SummaryModel, summariserOf } from "./summariser.ts";

/** The settings of Bonsai's compaction, and the sizes of the model that reads the messages. */
export interface CompactSettings extends CompactionSettingsInput {
  /** The model's context window in tokens. */
  window?: number;
  /** The longest answer of the model in tokens, for the threshold rules that reserve room for it. */
  maxOutputTokens?: number;
}

/** The smallest type of a message of each format. The SDK's own types fit it. */
export interface MessageShapes {
  "ai-sdk": { role: "system" | "user" | "assistant" | "tool"; content: unknown };
  "openai-chat": { role: string };
  "openai-responses": object;
  anthropic: { role: "user" | "assistant" | "system"; content: string | readonly object[] };
}

export interface CompactMessagesOptions<Message extends object> {
  /** The list of the next request, oldest first. It is not changed. */
  messages: readonly Message[];
  format: MessageFormat;
  /** Writes the summary: a function, or a model of the AI SDK. Default: the built-in digest, without a model. */
  model?: SummaryFunction | SummaryModel | undefined;
  /** Default: Bonsai's defaults. The reason `threshold` requires `window`. */
  settings?: CompactSettings | undefined;
  /** The state that the latest call for this conversation returned. Default: nothing was compacted yet. */
  state?: CompactState | null | undefined;
  /**
   * `threshold` compacts a list that is too large for the window. `manual` always compacts. `overflow` is for a request
   * that the provider refused as too long: it compacts and shortens until the request fits. Default: `threshold`.
   */
  reason?: CompactionReason | undefined;
  /** The provider's count for the latest answer in the list, with cached tokens. Default: the size is estimated. */
  usage?: { inputTokens: number; outputTokens: number } | undefined;
  /** System prompt and tool declarations outside of the list. They count until `usage` is known. Default: none. */
  fixedTexts?: readonly string[] | undefined;
  /** Topics that the summary must emphasise. */
  focus?: string | undefined;
  /** Receives all messages, for search and recall. Empty at the first call. Default: nothing is stored. */
  session?: Session | undefined;
  signal?: AbortSignal | undefined;
}

export interface CompactMessagesResult<Message extends object> {
  /**
   * The messages to send: system messages, the summary, the kept messages. Kept messages are the same objects, except
   * those with a masked or shortened text. The same array if nothing changed.
   */
  messages: Message[];
  /** Store it and pass it to the next call. Null if there is nothing to store yet. */
  state: CompactState | null;
  report: CompactReport;
}

/** The effect of one call. */
export interface CompactReport
  extends Pick<
    CompactionResult,
    "reason" | "tokensBefore" | "tokensAfter" | "steps" | "summary" | "loss" | "error"
  > {
  /** `masked`: clearing old tool results was enough. `failed`: the list is unchanged and still too large. */
  status: "unchanged" | "masked" | "compacted" | "failed";
  /** The outcome in a sentence. */
  detail: string;
  /** The author of the new summary. */
  summarisedBy?: "model" | "digest";
  /** Requests to `model`. */
  requests: number;
}

/**
 * Compacts a message list of another SDK if it has become too large. Tool calls keep their results.
 *
 * A later call may pass the returned list with new messages, or the full list of the conversation: the state applies to
 * both.
 * @throws BonsaiError `compact_format_unknown`, `compact_state_damaged`, `compact_state_foreign`,
 *   `compact_session_foreign`, `compact_window_unknown`, `compaction_setting_invalid`; the signal's reason after an abort
 */
export async function compactMessages<Format extends MessageFormat, Message extends MessageShapes[Format]>(
  options: CompactMessagesOptions<Message> & { format: Format },
): Promise<CompactMessagesResult<Message>> {
  const { format, model, reason = "threshold", focus, usage, signal } = options;
  signal?.throwIfAborted();
  const { window: contextWindow, maxOutputTokens, ...input } = options.settings ?? {};
  const rules = formatOf(format);
  const settings = compactionSettings({ ...input, background: false });
  if (contextWindow === undefined && reason === "threshold")
    throw new BonsaiError({
      /** The reason is `threshold`, and the model's window is missing. */
      code: "compact_window_unknown",
      message: "settings.window is missing, so the threshold is unknown.",
      hint: 'Set settings.window to the model\'s context window in tokens, or pass reason: "manual" to compact now.',
    });
  const state = checkedState(options.state, format);
  const list = new MessageList(options.messages, rules, state);
  const listSession = new ListSession({ list, format, state, session: options.session, usage });
  const sizes = { contextWindow, maxOutputTokens };
  const context = { session: listSession.session, fixedTexts: () => options.fixedTexts ?? [] };
  const { tokens } = readContext({ ...context, estimator: settings.estimator });
  const limit = thresholdTokens(settings, budgetsFor({ settings, model: sizes }));
  const isAbove = settings.enabled && limit !== undefined && tokens > limit;
  const summariser = model === undefined ? undefined : summariserOf(model, contextWindow);
  const request = { ...context, model: sizes, reason, settings, summariser, focus, signal };
  const result = isAbove || reason !== "threshold" ? await runCompaction(request) : undefined;
  signal?.throwIfAborted();
  const { messages, state: next } = listSession.current(result);
  return { messages: messages as Message[], state: next, report: reportOf(reason, tokens, result) };
}

function reportOf(
  reason: CompactionReason,
  tokens: number,
  result: CompactionResult | undefined,
): CompactReport {
  const { status, tokensBefore = tokens, tokensAfter = tokens, requests = 0 } = result ?? {};
  const { detail = "The messages fit.", steps, summary, summarisedBy, loss, error } = result ?? {};
  const isKnown = status === "compacted" || status === "masked" || status === "failed";
  return {
    status: isKnown ? status : "unchanged",
    ...{ reason, detail, tokensBefore, tokensAfter, requests },
    ...(steps && { steps }),
    ...(summary !== undefined && { summary, summarisedBy: summarisedBy === "digest" ? "digest" : "model" }),
    ...(loss && { loss }),
    ...(error && { error }),
  };
}
