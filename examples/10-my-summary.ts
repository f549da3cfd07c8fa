import { type ExtensionAPI, messageText } from "@bonsai-agent/extension";

/** Summaries without a model: the user's requests, word for word. */
export default function (bonsai: ExtensionAPI) {
  bonsai.on("session_before_compact", ({ preparation }) => {
    const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } =
      preparation;
    const requests = [...messagesToSummarize, ...turnPrefixMessages]
      .filter(({ role }) => role === "user")
      .map((message) => `- ${messageText(message).split("\n")[0]}`);
    const summary = [previousSummary ?? "The user asked for:", ...requests].join("\n");
    return { compaction: { summary, firstKeptEntryId, tokensBefore } };
  });
}
