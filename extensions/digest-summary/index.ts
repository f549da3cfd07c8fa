import {
  digestSummariser,
  type ExtensionAPI,
  summariseEntries,
  summarisePreparation,
} from "@bonsai-agent/extension";

/** Summaries that cost nothing: the built-in digest writes all of them, and no model is ever asked. */
export default function digestSummary(bonsai: ExtensionAPI): void {
  const summariser = digestSummariser();

  bonsai.on("session_before_compact", ({ preparation, customInstructions, signal }) =>
    summarisePreparation({ preparation, summariser, customInstructions, signal }),
  );

  bonsai.on("session_before_tree", async ({ preparation, signal }) => {
    const { entriesToSummarize: entries, customInstructions, userWantsSummary } = preparation;
    if (!userWantsSummary) return undefined;
    return { summary: await summariseEntries({ entries, summariser, customInstructions, signal }) };
  });
}
