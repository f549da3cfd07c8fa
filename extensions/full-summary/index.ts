import { type ExtensionAPI, summarisePreparation } from "@bonsai-agent/extension";

/**
 * Keeps nothing but the summary when it compacts, and what the model has not answered yet: a prompt, or the results of
 * its latest tool calls. Where that fails, the usual compaction keeps what it always keeps.
 */
export default function fullSummary(bonsai: ExtensionAPI): void {
  bonsai.on(
    "session_before_compact",
    async ({ preparation, customInstructions, background, signal }, ctx) => {
      // What is said meanwhile would be kept, and nothing is to be.
      if (background) return { cancel: true, reason: "It keeps nothing, and so it waits until it is due." };
      try {
        return await summarisePreparation({ preparation, customInstructions, keepNothing: true, signal });
      } catch (error) {
        if (signal.aborted) throw error;
        const why = error instanceof Error ? error.message : String(error);
        ctx.ui.notify(`full-summary: the usual compaction is made instead. ${why}`, "warning");
        return undefined;
      }
    },
  );
}
