import { type ExtensionAPI, summarisePreparation } from "@bonsai-agent/extension";

/**
 * Compactions keep only the summary and the messages that the model has not answered yet: a prompt, or the results of
 * its latest tool calls. If that fails, the default compaction runs.
 */
export default function fullSummary(bonsai: ExtensionAPI): void {
  bonsai.on(
    "session_before_compact",
    async ({ preparation, customInstructions, background, signal }, ctx) => {
      // A background compaction would keep the messages that arrive in the meantime.
      if (background)
        return {
          cancel: true,
          reason: "full-summary keeps no messages, so it does not compact in the background.",
        };
      try {
        return await summarisePreparation({ preparation, customInstructions, keepNothing: true, signal });
      } catch (error) {
        if (signal.aborted) throw error;
        const why = error instanceof Error ? error.message : String(error);
        ctx.ui.notify(`full-summary: using the default compaction instead. ${why}`, "warning");
        return undefined;
      }
    },
  );
}
