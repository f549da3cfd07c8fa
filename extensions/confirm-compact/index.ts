import {
  type CompactionPreparation,
  type CompactionReason,
  type ExtensionAPI,
  type Message,
  messageText,
  shortened,
  tokenEstimator,
} from "@bonsai-agent/extension";

/** Asks before a compaction, and shows its effect. Without a terminal, compactions run as usual. */
export default function confirmCompact(bonsai: ExtensionAPI): void {
  /** Tokens at which it asks again after the user refused. */
  let askAgainAt = 0;
  const forget = () => {
    askAgainAt = 0;
  };
  bonsai.on("session_start", forget);
  bonsai.on("session_compact", forget);
  bonsai.on("session_tree", forget);

  bonsai.on("session_before_compact", async ({ preparation, reason, signal }, ctx) => {
    if (!ctx.hasUI) return undefined;
    const { tokensBefore } = preparation;
    const again = `You declined. Asking again at ${count(askAgainAt)} tokens.`;
    if (reason === "threshold" && tokensBefore < askAgainAt) return { cancel: true, reason: again };
    const title = `Compact the context (${count(tokensBefore)} tokens)? ${reasons[reason]}`;
    if (await ctx.ui.confirm(title, picture(preparation), { signal })) return undefined;
    if (reason === "threshold") askAgainAt = Math.ceil(tokensBefore * 1.1);
    return { cancel: true, reason: "You declined." };
  });
}

const reasons: Record<CompactionReason, string> = {
  manual: "You requested it.",
  threshold: "The context is nearly full.",
  overflow: "The model refused the request as too long. Without a compaction, the request fails.",
};

/** Maximum number of listed requests, and of files. */
const LISTED = 6;

function picture({ messagesToSummarize, turnPrefixMessages, ...preparation }: CompactionPreparation): string {
  const going = [...messagesToSummarize, ...turnPrefixMessages];
  const tokens = going.reduce((sum, message) => sum + tokenEstimator.message(message), 0);
  const of = (role: Message["role"]) => going.filter((message) => message.role === role);
  const requests = of("user").map(firstLine);
  const { read, modified } = preparation.fileOps;
  const counts = [
    [requests.length, "request"] as const,
    [of("assistant").length, "answer"] as const,
    [of("toolResult").length, "tool result"] as const,
  ];
  const others = counts.reduce((left, [number]) => left - number, going.length);
  const parts = [...counts, [others, "other message"] as const]
    .filter(([number]) => number > 0)
    .map(([number, noun]) => counted(number, noun));
  const become =
    preparation.previousSummary === undefined ? "become a summary" : "be added to the earlier summary";
  return [
    `${counted(going.length, "message")} (~${count(tokens)} tokens) would ${become}: ${parts.join(", ")}.`,
    ...listed("Latest requests:", requests.slice(-LISTED), requests.length),
    ...listed("Files modified:", modified.slice(0, LISTED), modified.length),
    ...listed("Files read:", read.slice(0, LISTED), read.length),
    "The session keeps every message. Use /undo to undo the compaction.",
  ].join("\n");
}

function listed(heading: string, lines: readonly string[], total: number): string[] {
  if (total === 0) return [];
  const more = total > lines.length ? [`  and ${count(total - lines.length)} more`] : [];
  return [heading, ...lines.map((line) => `  ${line}`), ...more];
}

function firstLine(message: Message): string {
  const line = messageText(message).trim().split("\n", 1)[0] || "(no text)";
  return shortened(line, 70);
}

function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function count(number: number): string {
  return number.toLocaleString("en");
}
