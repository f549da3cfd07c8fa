import { digestText, recordAfter } from "@bonsai-agent/digest";
import type { Summariser, SummaryKind, SummaryRequest } from "./summariser.ts";

/** The most tokens that the prose takes, whatever the request allows. */
const MAX_TOKENS = 5_900;
/** What of its own record a digest quotes of the user's words, where they do not stand beside it. */
const WORDS_TOKENS = 4_000;
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
  const { kind, messages, following = [], previousSummary, focus, areWordsCarried = false } = request;
  const source = (message: (typeof messages)[number]) => ({ message });
  const record =
    request.record ??
    recordAfter({
      messages: messages.map(source),
      following: following.map(source),
      wordsTokens: WORDS_TOKENS,
    });
  const maxTokens = Math.floor(Math.min(MAX_TOKENS, request.maxSummaryTokens) * KIND_SHARE[kind]);
  return digestText({
    record,
    earlierSummary: previousSummary,
    focus,
    areWordsCarried,
    maxTokens,
  });
}
