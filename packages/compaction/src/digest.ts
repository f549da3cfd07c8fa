import { byScriptEstimator, toolCalls } from "@bonsai-agent/messages";
import type { DigestInput } from "./digest/digest-input.ts";
import { digestItems } from "./digest/items.ts";
import { chooseItems, type Item, renderItems } from "./digest/render.ts";
import { clip } from "./serialise.ts";
import type { Summariser, SummaryKind, SummaryRequest } from "./summariser.ts";

/** The most tokens that the prose takes, whatever the request allows; counted high. */
const MAX_TOKENS = 4_050;
/** A turn prefix and a branch stand beside a history or a live context, so they say less. */
const KIND_SHARE: Record<SummaryKind, number> = { history: 1, turnPrefix: 0.35, branch: 0.6 };

/**
 * The summariser that needs no model. It quotes what matters in the words in which it was said, and tells what was done
 * from the tool calls. Same messages, same digest: no clock, no chance, no locale.
 */
export function digestSummariser(): Summariser {
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
        maxTokens: Math.min(MAX_TOKENS, request.maxSummaryTokens),
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
  const items = digestItems(input).filter(
    ({ section, text }) => !COUNTED.test(text) && (input.kind !== "branch" || section !== "critical"),
  );
  const chosen = chooseItems(items, budget);
  const counts = chosen.length < FEW_ITEMS ? countsItem(input) : undefined;
  return renderItems(counts === undefined ? chosen : [...chosen, counts], input.kind);
}

/** Where fewer lines say what happened, how much happened is said too: a digest never says nothing. */
const FEW_ITEMS = 4;
const COUNTED = /^Summarised so far: ([\d,]{1,20}) messages?\b/;

const COUNTED_LINE = /^[-*] Summarised so far: ([\d,]{1,20}) messages?\b/m;

/** How much there was, where it has no words to quote; undefined where there was nothing. */
function countsItem({ kind, messages, previousSummary = "" }: DigestInput): Item | undefined {
  const roles = new Map<string, number>();
  const calls = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const message of messages) {
    add(roles, ROLES[String(message?.role)] ?? "other");
    for (const call of toolCalls(message))
      add(calls, clip(call.name.replaceAll(/\s+/g, " "), 60) || "(unnamed)");
  }
  const [, before = "0"] = COUNTED_LINE.exec(previousSummary) ?? [];
  const total = messages.length + Number(before.replaceAll(",", ""));
  if (total === 0) return undefined;
  const tokens = messages.reduce((sum, message) => sum + byScriptEstimator.message(message), 0);
  const parts = [
    ...(total > messages.length ? [`the last ${count(messages.length)} of them`] : []),
    listed("", roles),
    ...(calls.size === 0 ? [] : [listed("tool calls ", calls)]),
    `about ${count(tokens)} tokens`,
  ];
  const text = `Summarised so far: ${count(total)} ${total === 1 ? "message" : "messages"} (${parts.join("; ")}).`;
  return {
    section: kind === "branch" ? "done" : "critical",
    text,
    score: 0,
    position: Number.POSITIVE_INFINITY,
  };
}

const ROLES: Readonly<Record<string, string>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "tool results",
  bashExecution: "user commands",
  custom: "extensions",
  branchSummary: "summaries",
  compactionSummary: "summaries",
};
const LISTED = 12;

function listed(title: string, counts: ReadonlyMap<string, number>): string {
  const ranked = [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
  const others = ranked.length - LISTED;
  const shown = ranked.slice(0, LISTED).map(([name, times]) => `${name} ${count(times)}`);
  return `${title}${[...shown, ...(others > 0 ? [`${others} others`] : [])].join(", ")}`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}
