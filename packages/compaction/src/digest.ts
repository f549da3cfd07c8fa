import type { DigestInput } from "./digest/digest-input.ts";
import { digestItems } from "./digest/items.ts";
import { chooseItems, renderItems } from "./digest/render.ts";
import type { Summariser, SummaryKind, SummaryRequest } from "./summariser.ts";

export interface DigestOptions {
  /** The most tokens that the prose takes, whatever the request allows; counted high. Default 4,050. */
  maxTokens?: number;
}

const DEFAULT_MAX_TOKENS = 4_050;
/** A turn prefix and a branch stand beside a history or a live context, so they say less. */
const KIND_SHARE: Record<SummaryKind, number> = { history: 1, turnPrefix: 0.35, branch: 0.6 };
/**
 * The summariser that needs no model. It quotes what matters in the words in which it was said, and tells what was done
 * from the tool calls. Same messages, same digest: no clock, no chance, no locale.
 */
export function digestSummariser(options: DigestOptions = {}): Summariser {
  const ceiling = options.maxTokens ?? DEFAULT_MAX_TOKENS;
  const summariser: Summariser = {
    name: "digest",
    async summarise(request: SummaryRequest) {
      if (request.signal.aborted) return { text: "", stopReason: "aborted" };
      const text = digest({
        kind: request.kind,
        messages: request.messages,
        ...(request.following !== undefined && { following: request.following }),
        ...(request.previousSummary !== undefined && { previousSummary: request.previousSummary }),
        ...(request.focus !== undefined && { focus: request.focus }),
        maxTokens: Math.min(ceiling, request.maxSummaryTokens),
      });
      return { text, stopReason: "stop" };
    },
  };
  digests.add(summariser);
  return summariser;
}

const digests = new WeakSet<Summariser>();

/** True for what `digestSummariser` made. */
export function isDigest(summariser: Summariser): boolean {
  return digests.has(summariser);
}

/** A summary of the messages, in the sections that every summary has. Pure, and total over damaged messages. */
export function digest(input: DigestInput): string {
  const budget = Math.floor(input.maxTokens * KIND_SHARE[input.kind]);
  const items = digestItems(input).filter((item) => input.kind !== "branch" || item.section !== "critical");
  return renderItems(chooseItems(items, budget), input.kind);
}
