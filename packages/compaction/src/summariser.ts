import type { Message, ModelPrices, ProviderSummary, Usage } from "@bonsai-agent/messages";
import type { SpanRecord } from "./details.ts";

/** The summarised part: the history before the cut, the early part of a split turn, or a branch. */
export type SummaryKind = "history" | "turnPrefix" | "branch";

export interface SummaryRequest {
  kind: SummaryKind;
  /** The messages to summarise, oldest first, as stored: masked tool results have their full content. */
  messages: readonly Message[];
  /**
   * The messages after the summarised ones: the early part of a split turn, then the kept part. They show which parts of
   * the messages are outdated.
   */
  following?: readonly Message[] | undefined;
  /** The prose of the summary that this one updates, without its carry-over. */
  previousSummary?: string | undefined;
  /** The data of the messages and everything before them. Absent if they were not read. */
  record?: SpanRecord | undefined;
  /** True if the user's words follow the summary word for word. Default: false. */
  carriesUserWords?: boolean | undefined;
  /** The user's focus for the summary. */
  focus?: string | undefined;
  /** The whole request as text, for a summariser that is a model. */
  prompt: { system: string; user: string };
  /**
   * For a summariser that can continue from the context that the session's model saw last. Names the part to summarise
   * and the form of the notes, without the conversation. Absent if the context must not be sent: after an overflow, for
   * a branch, and for a piece of a conversation that is too long.
   */
  instruction?: string;
  /** The way to ask, if the settings name one. Default: the cheaper one. */
  way?: "text" | "cached" | undefined;
  /** The largest accepted answer, in tokens. */
  maxSummaryTokens: number;
  signal: AbortSignal;
}

export interface SummaryAnswer {
  /** The summary, under the requested headings. */
  text: string;
  /** Anything but "stop" is a failure, not a summary. */
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  /** With the stop reason "error". */
  errorMessage?: string;
  /** True if the request was refused as too long; smaller requests are then tried. */
  overflow?: boolean;
  /** Absent if the cost is unknown. */
  usage?: Usage;
}

/** Turns messages into a summary: a model, an extension, or the digest. */
export interface Summariser {
  /** The name in messages and records. */
  readonly name: string;
  /** Maximum tokens of one request with its answer. Absent: no limit. */
  readonly contextWindow?: number | undefined;
  /** Maximum tokens of an answer. Absent: no limit. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * True for a summariser that quotes `record` instead of writing new text, like the built-in digest. It needs no
   * sections, and nothing is put back after its text. Default: false.
   */
  readonly isExtract?: boolean | undefined;
  /** True if its requests are known to be free; else a request without a cost has an unknown one. Default: false. */
  readonly isFree?: boolean | undefined;
  summarise(request: SummaryRequest): Promise<SummaryAnswer>;
  /** Compaction on the provider's side. Absent if no provider is asked. */
  readonly provider?: ProviderCompaction | undefined;
}

/** Lets the provider of a model compact a conversation on its side. */
export interface ProviderCompaction {
  /** Why the provider cannot, in a sentence; undefined if it can. */
  readonly unavailable: string | undefined;
  /** True if only the provider can read its summaries. */
  readonly isSealed: boolean;
  /** @throws SummaryFailure "incomplete-turn" if the messages may not end there; others for other failures */
  compact(request: ProviderRequest): Promise<ProviderAnswer>;
}

export interface ProviderRequest {
  kind: SummaryKind;
  /** The summarised messages as the model saw them, oldest first. They can begin with an earlier summary. */
  messages: readonly Message[];
  /** Replaces the provider's own instructions. Default: those of the provider. */
  instructions?: string | undefined;
  signal: AbortSignal;
}

export interface ProviderAnswer {
  summary: ProviderSummary;
  /** Undefined for a sealed summary. */
  text: string | undefined;
  /** Absent if the cost is unknown. */
  usage?: Usage;
}

/** The requested headings (`## …`) of a summary of each kind, in order. */
export const summarySections: Readonly<Record<SummaryKind, readonly string[]>> = {
  history: [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
  ],
  turnPrefix: ["Request", "Done So Far", "Needed to Continue"],
  branch: ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"],
};

/** Sizes of a summary request, either way. The answer costs the same. */
export interface SummaryWays {
  /** US dollars per million tokens. */
  prices: ModelPrices | undefined;
  /** Undefined or 0 if unknown. */
  windowTokens: number | undefined;
  /** Tokens of the prefix that are in the cache. */
  cachedTokens: number;
  /** Tokens of a request after the cached prefix. */
  newTokens: number;
  /** Tokens of the request with the conversation as text. */
  serialisedTokens: number;
  /** True if the server writes every request to its cache, the one with the text too. Default: false. */
  isAlwaysWritten?: boolean | undefined;
  /** Maximum tokens of the answer. */
  maxSummaryTokens: number;
}

/**
 * Returns the cheaper way. It is the text if the costs are uncertain: without prices, with a free cache, or in a window
 * that is unknown or too small.
 */
export function cheaperWay(ways: SummaryWays): "cachedPrefix" | "serialised" {
  const { prices, cachedTokens, newTokens, serialisedTokens, isAlwaysWritten = false } = ways;
  if (prices === undefined || prices.cacheRead <= 0 || cachedTokens <= 0) return "serialised";
  if (!prefixFits(ways)) return "serialised";
  // New tokens may be written to the cache, which costs more than input.
  const writePrice = Math.max(prices.input, prices.cacheWrite);
  const prefixCost = cachedTokens * prices.cacheRead + newTokens * writePrice;
  const textCost = serialisedTokens * (isAlwaysWritten ? writePrice : prices.input);
  return prefixCost < textCost ? "cachedPrefix" : "serialised";
}

/** True if the request after the cached prefix and its answer fit the window. False if the window is unknown. */
export function prefixFits({
  windowTokens = 0,
  cachedTokens,
  newTokens,
  maxSummaryTokens,
}: Omit<SummaryWays, "prices" | "serialisedTokens">): boolean {
  return cachedTokens + newTokens + maxSummaryTokens <= windowTokens;
}

/** Why an answer is no summary. */
type SummaryFailureKind =
  | "empty"
  | "refused"
  | "tool-call"
  | "length"
  | "aborted"
  | "error"
  | "no-sections"
  | "too-large"
  | "no-shorter"
  | "does-not-fit"
  | "incomplete-turn"
  | "no-focus"
  | "unsupported";

/** A summariser's answer, or its absence, that cannot be stored as a summary. Rungs catch it. */
export class SummaryFailure extends Error {
  readonly kind: SummaryFailureKind;
  /** True if the summariser itself found the request too long. */
  readonly overflow: boolean;

  constructor(
    kind: SummaryFailureKind,
    message: string,
    options: { cause?: unknown; overflow?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SummaryFailure";
    this.kind = kind;
    this.overflow = options.overflow ?? false;
  }
}
