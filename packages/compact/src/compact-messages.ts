import {
  budgetsFor,
  type CompactionReason,
  type CompactionResult,
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionSettings,
  cutPlaces,
  type ModelSizes,
  planCompaction,
  readContext,
  runCompaction,
  thresholdTokens,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { converterFor, type MessageFormat } from "./formats.ts";
import { type AnswerUsage, ListSession } from "./list-session.ts";
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

type Summary = SummaryFunction | SummaryModel;

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
  model?: Summary | undefined;
  /** Default: Bonsai's defaults. `window` is required for the reason `threshold`. */
  settings?: CompactSettings | undefined;
  /** The state that the latest call for this conversation returned. Default: nothing was compacted yet. */
  state?: CompactState | null | undefined;
  /**
   * `threshold` compacts if the list is too large for the window. `manual` always compacts. `overflow` always compacts,
   * and shortens until the request must fit: after the provider refused it as too long. Default: `threshold`.
   */
  reason?: CompactionReason | undefined;
  /** Usage of the latest answer in the list. It makes the size exact. Default: the size is estimated. */
  usage?: AnswerUsage | undefined;
  /** System prompt and tool declarations outside of the list. They count until `usage` is known. Default: none. */
  fixedTexts?: readonly string[] | undefined;
  /** Topics that the summary must emphasise. */
  focus?: string | undefined;
  /**
   * Receives all messages, so that search, recall and undo work on it. Empty at the first call. Default: nothing is
   * stored.
   */
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
export interface CompactReport {
  /** `masked`: old tool results were cleared, and that was enough. `failed`: the list is unchanged and still too large. */
  status: "unchanged" | "masked" | "compacted" | "failed";
  reason: CompactionReason;
  /** The outcome in a sentence. */
  detail: string;
  tokensBefore: number;
  tokensAfter: number;
  /** Messages of Bonsai that the new summary replaces. An SDK's message with several tool results counts for each. */
  summarisedMessages: number;
  /** Tool results with a cleared text, of this and earlier calls. */
  maskedResults: number;
  /** The author of the new summary. */
  summarisedBy?: "model" | "digest";
  /** The new summary. */
  summary?: string;
  /** Facts that the summary lacks, and those that were put back. */
  loss?: CompactionResult["loss"];
  /** Requests to `model`. */
  requests: number;
  /** With the status `failed`. */
  error?: BonsaiError;
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
  options.signal?.throwIfAborted();
  const run = prepareRun(options);
  const tokens = readContext(run.context).tokens;
  const result = isNeeded(run, tokens) ? await compactList(run, options) : undefined;
  options.signal?.throwIfAborted();
  const { messages, state } = run.list.current(result);
  return { messages: messages as Message[], state, report: reportOf(run, tokens, result) };
}

interface CompactRun {
  list: ListSession;
  reason: CompactionReason;
  settings: CompactionSettings;
  /** The input of the engine's readings. */
  context: Parameters<typeof readContext>[0] & { model: ModelSizes };
}

function prepareRun({ messages, format, ...options }: CompactMessagesOptions<object>): CompactRun {
  const { reason = "threshold", fixedTexts = [], session, usage } = options;
  const { window: contextWindow, maxOutputTokens, ...input } = options.settings ?? {};
  const converter = converterFor(format);
  const settings = compactionSettings({ ...input, background: false });
  if (contextWindow === undefined && reason === "threshold") throw windowUnknown();
  const state = checkedState(options.state, format);
  const listOptions = { list: new MessageList(messages, converter, state), format, state, session, usage };
  const list = new ListSession(listOptions);
  const model = { contextWindow, maxOutputTokens };
  const { estimator } = settings;
  const context = { session: list.session, fixedTexts: () => fixedTexts, model, estimator };
  return { list, reason, settings, context };
}

function windowUnknown(): BonsaiError {
  return new BonsaiError({
    /** A threshold was requested without the window of the model. */
    code: "compact_window_unknown",
    message: "The model's context window is unknown, so no threshold can be checked.",
    hint: 'Set `settings.window` in tokens, or compact now with `reason: "manual"`.',
  });
}

function isNeeded({ reason, settings, context }: CompactRun, tokens: number): boolean {
  if (reason !== "threshold") return true;
  const limit = thresholdTokens(settings, budgetsFor({ settings, model: context.model }));
  return settings.enabled && limit !== undefined && tokens > limit;
}

/** Undefined if no cut is legal. */
async function compactList(
  { list, reason, settings, context }: CompactRun,
  { model, focus, signal }: CompactMessagesOptions<object>,
): Promise<CompactionResult | undefined> {
  const { session, model: sizes, fixedTexts } = context;
  const request = { session, model: sizes, fixedTexts, reason, settings, focus };
  const cut = list.list.hasForbiddenCuts
    ? legalCut(list, planCompaction(request), () => cutPlaces(context))
    : undefined;
  if (cut === null) return undefined;
  const summariser = model === undefined ? undefined : summariserOf(model, sizes.contextWindow);
  return runCompaction({ ...request, summariser, firstKeptEntryId: cut, signal });
}

/**
 * The first kept entry, if the engine's own cut would separate a pair of the format. Undefined: the engine's cut is
 * legal. Null: no cut is.
 */
function legalCut(
  list: ListSession,
  { status, firstKeptEntryId }: CompactionResult,
  places: () => { entryId: string }[],
): string | null | undefined {
  const isLegal = (entryId: string | null) => list.list.isLegalCut(list.indexOf(entryId));
  if (status !== "planned" || isLegal(firstKeptEntryId)) return undefined;
  const at = list.indexOf(firstKeptEntryId);
  const legal = places().filter(({ entryId }) => isLegal(entryId));
  const after = legal.find(({ entryId }) => list.indexOf(entryId) > at);
  return (after ?? legal.at(-1))?.entryId ?? null;
}

function reportOf(
  { reason }: CompactRun,
  tokens: number,
  result: CompactionResult | undefined,
): CompactReport {
  const { status, steps, tokensBefore = tokens, tokensAfter = tokens, loss, summary, error } = result ?? {};
  const isKnown = status === "compacted" || status === "masked" || status === "failed";
  const detail = reason === "threshold" ? "The messages fit." : "No message can be replaced.";
  return {
    status: isKnown ? status : "unchanged",
    ...{ reason, detail: result?.detail ?? detail, tokensBefore, tokensAfter },
    summarisedMessages: steps?.summarised ?? 0,
    maskedResults: steps?.masked ?? 0,
    requests: result?.requests ?? 0,
    ...(summary !== undefined && {
      summary,
      summarisedBy: result?.summarisedBy === "digest" ? "digest" : "model",
    }),
    ...(loss && { loss }),
    ...(error && { error }),
  };
}
