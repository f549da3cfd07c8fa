import type { Message, Usage } from "@bonsai-agent/messages";
import { digestText } from "./record/digest.ts";
import { recordAfter, type SpanRecord } from "./record/record.ts";
import { summaryProse } from "./record/source.ts";

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
  /** True where what the user said stands beside the summary, word for word. Default false. */
  carriesUserWords?: boolean | undefined;
  /** The user's focus for the summary. */
  focus?: string | undefined;
  /** The whole request as text, for a summariser that is a model. */
  prompt: { system: string; user: string };
  /**
   * For a summariser that can go on from the context as the session's model last saw it: says which part is meant and
   * how the notes must look, without the conversation. Absent where the context must not be sent: after an overflow, for
   * a branch, and for a piece of a conversation that is too long.
   */
  instruction?: string;
  /** The largest answer that will be taken, in tokens. */
  maxSummaryTokens: number;
  signal: AbortSignal;
}

export interface SummaryAnswer {
  /** Under the headings that were asked for. */
  text: string;
  /** Anything but "stop" is a failure, not a summary. */
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  /** With the stop reason "error". */
  errorMessage?: string;
  /** True when the request was refused for being too long: smaller requests are tried. */
  overflow?: boolean;
  /** Absent if the cost is unknown. */
  usage?: Usage;
}

/** Turns messages into a summary: a model, an extension, or the digest. */
export interface Summariser {
  /** For messages and records. */
  readonly name: string;
  /** Tokens that one request and its answer can hold; absent: no limit. */
  readonly contextWindow?: number | undefined;
  /** Tokens of the longest answer; absent: no limit. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * True for one that quotes `record` instead of writing anew, as the built-in digest does: it owes no sections, and
   * nothing is
   * put back behind it. Default false.
   */
  readonly isExtract?: boolean | undefined;
  /** True where its requests are known to cost nothing; else a request without a cost has an unknown one. Default false. */
  readonly isFree?: boolean | undefined;
  summarise(request: SummaryRequest): Promise<SummaryAnswer>;
}

/** The headings (`## …`) that a summary of each kind is asked for, in order. */
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
  | "does-not-fit";

/** A summariser's answer, or the lack of one, that cannot be stored as a summary. Rungs catch it. */
export class SummaryFailure extends Error {
  readonly kind: SummaryFailureKind;
  /** True when the summariser itself found the request too long. */
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

/** Maximum tokens of the prose of a digest. */
const DIGEST_TOKENS = 5_900;
/** Maximum tokens of the user's words in a digest that is not followed by them. */
const DIGEST_WORDS_TOKENS = 4_000;
/** A turn prefix and a branch stand beside a history or a live context, so they say less. */
const KIND_SHARE: Record<SummaryKind, number> = { history: 1, turnPrefix: 0.35, branch: 0.6 };

/**
 * The summariser that needs no model. It quotes what was said in the words in which it was said, and reports what came of
 * the commands. Same messages, same digest: no clock, no chance, no locale.
 */
export function digestSummariser(): Summariser {
  return {
    name: "digest",
    isExtract: true,
    async summarise(request: SummaryRequest) {
      if (request.signal.aborted) return { text: "", stopReason: "aborted" };
      return { text: digestOf(request), stopReason: "stop" };
    },
  };
}

function digestOf(request: SummaryRequest): string {
  const { kind, messages, following = [], previousSummary, focus, carriesUserWords = false } = request;
  const source = (message: (typeof messages)[number]) => ({ message });
  const record =
    request.record ??
    recordAfter({
      messages: messages.map(source),
      following: following.map(source),
      wordsTokens: DIGEST_WORDS_TOKENS,
    });
  const maxTokens = Math.floor(Math.min(DIGEST_TOKENS, request.maxSummaryTokens) * KIND_SHARE[kind]);
  return digestText({
    record,
    earlierSummary: [previousSummary, ...prosesOf(messages, "compactionSummary")].join("\n"),
    branchSummaries: prosesOf(messages, "branchSummary"),
    focus,
    carriesUserWords,
    maxTokens,
  });
}

function prosesOf(messages: readonly Message[], role: "branchSummary" | "compactionSummary"): string[] {
  return messages.flatMap((message) => (message.role === role ? [summaryProse(message)] : []));
}
