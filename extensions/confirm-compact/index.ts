import type { ExtensionAPI, Message } from "@bonsai-agent/extension";
import { messageText } from "@bonsai-agent/extension";

/** Asks before a compaction, and shows what would go. Where nobody can be asked, compactions go on. */
export default function confirmCompact(bonsai: ExtensionAPI): void {
  bonsai.on("session_before_compact", async ({ preparation, reason, signal }, ctx) => {
    if (!ctx.hasUI) return undefined;
    const { messagesToSummarize, turnPrefixMessages, tokensBefore } = preparation;
    const going = [...messagesToSummarize, ...turnPrefixMessages];
    const title = `Compact ${tokensBefore.toLocaleString("en")} tokens? (${reasons[reason]})`;
    const isWanted = await ctx.ui.confirm(title, picture(going), { signal });
    return isWanted ? undefined : { cancel: true, reason: "The user did not want it." };
  });
}

const reasons = {
  manual: "you asked for it",
  threshold: "the context is nearly full",
  overflow: "the request did not fit; without it the request fails",
} as const;

/** Lines of the requests that would go. */
const SHOWN = 8;

function picture(going: readonly Message[]): string {
  const requests = going.filter(({ role }) => role === "user").map(firstLine);
  const counts = Map.groupBy(going, ({ role }) => role);
  const results = counts.get("toolResult")?.length ?? 0;
  const answers = counts.get("assistant")?.length ?? 0;
  return [
    `${going.length} messages become a summary: ${requests.length} requests, ${answers} answers, ${results} tool results.`,
    ...requests.slice(-SHOWN).map((line) => `  - ${line}`),
    ...(requests.length > SHOWN ? [`  (and ${requests.length - SHOWN} before them)`] : []),
    "The session keeps all of them; /tree and `bonsai undo` bring them back.",
  ].join("\n");
}

function firstLine(message: Message): string {
  const line = messageText(message).trim().split("\n", 1)[0] ?? "";
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
