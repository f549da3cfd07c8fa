import {
  digestSummariser,
  type Entry,
  type ExtensionAPI,
  summariseEntries,
  summarisePreparation,
} from "@bonsai-agent/extension";

/**
 * The built-in digest writes all summaries, at no cost. Every handler returns a result, because Bonsai asks a model
 * otherwise.
 */
export default function digestSummary(bonsai: ExtensionAPI): void {
  const summariser = digestSummariser();

  bonsai.on("session_before_compact", async ({ preparation, customInstructions, reason, signal }) => {
    try {
      const asked = { preparation, customInstructions, signal };
      return await summarisePreparation({ ...asked, summariser, mayGrow: true });
    } catch (error) {
      signal.throwIfAborted();
      if (reason !== "overflow") return { cancel: true, reason: messageOf(error) };
      // Without a summary the request fails. After one, the kept messages can be shortened.
      const { firstKeptEntryId, tokensBefore, previousSummary: summary = NOTHING } = preparation;
      return { compaction: { summary, firstKeptEntryId, tokensBefore } };
    }
  });

  bonsai.on("session_before_tree", async ({ preparation, signal }) => {
    const { entriesToSummarize: entries, customInstructions, userWantsSummary } = preparation;
    // An empty branch needs no summary.
    if (!userWantsSummary || !entries.some(isSeen)) return undefined;
    try {
      return { summary: await summariseEntries({ entries, summariser, customInstructions, signal }) };
    } catch {
      signal.throwIfAborted();
      return { summary: { summary: NOTHING } };
    }
  });
}

const NOTHING = "The earlier messages contain nothing notable.";

function isSeen({ type }: Entry): boolean {
  return type === "message" || type === "custom_message" || type === "branch_summary";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
