import type { ExtensionAPI } from "@bonsai-agent/extension";
import { textHead } from "@bonsai-agent/extension";
import { Checkpoints } from "./checkpoints.ts";
import { messageAt, rememberedCheckpoints } from "./remembered.ts";

/** Snapshots of the files beside the session's tree, so that `/tree` can bring back both. */
export default function gitCheckpoint(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("checkpoint-restore", {
    type: "boolean",
    description:
      "If there is no terminal to ask on, restore the files on /tree without asking. Default: only if BONSAI_CHECKPOINT_RESTORE=1",
  });
  bonsai.registerFlag("checkpoint-keep", {
    type: "string",
    description: "Number of checkpoints to keep in a repository. Default: BONSAI_CHECKPOINT_KEEP, else 200",
  });
  bonsai.registerFlag("checkpoint-seconds", {
    type: "string",
    description: "Time limit for git, in seconds. Default: BONSAI_CHECKPOINT_SECONDS, else 10",
  });
  const number = (said: unknown, usual: number) => (Number(said) > 0 ? Number(said) : usual);
  const { env } = process;
  const checkpoints = new Checkpoints(bonsai, () => ({
    restoresUnasked: bonsai.getFlag("checkpoint-restore") === true || env.BONSAI_CHECKPOINT_RESTORE === "1",
    keep: Math.ceil(number(bonsai.getFlag("checkpoint-keep") || env.BONSAI_CHECKPOINT_KEEP, 200)),
    limitMs: number(bonsai.getFlag("checkpoint-seconds") || env.BONSAI_CHECKPOINT_SECONDS, 10) * 1_000,
  }));
  let prompt = "";
  let turn = 0;

  bonsai.on("session_start", async ({ reason }, ctx) => {
    await checkpoints.close();
    const leafId = ctx.sessionManager.getLeafId();
    if (reason === "fork") await checkpoints.restore(ctx, { leafId, oldLeafId: null });
  });
  bonsai.on("session_shutdown", () => checkpoints.close());
  bonsai.on("before_agent_start", async (event, ctx) => {
    [prompt, turn] = [textHead(event.prompt.replaceAll(/\s+/g, " "), 60), 0];
    const entryId = messageAt(ctx, ctx.sessionManager.getLeafId());
    await checkpoints.take(ctx, { entryId, label: `before "${prompt}"` });
  });
  bonsai.on("turn_end", async ({ toolResultEntryIds }, ctx) => {
    turn += 1;
    const entryId = toolResultEntryIds.at(-1);
    if (entryId !== undefined) await checkpoints.take(ctx, { entryId, label: `turn ${turn} of "${prompt}"` });
  });
  bonsai.on("session_tree", async ({ newLeafId, oldLeafId, isMerge }, ctx) => {
    // A merge does not move to another place.
    if (!isMerge) await checkpoints.restore(ctx, { leafId: newLeafId, oldLeafId });
  });

  bonsai.registerCommand("checkpoints", {
    description: "List the file checkpoints",
    async handler(_args, ctx) {
      const why = await checkpoints.whyNone(ctx);
      const newest = rememberedCheckpoints(ctx).toReversed().slice(0, 30);
      const lines = newest.map(
        ({ commit, at, label }) => `${commit.slice(0, 7)}  ${at.slice(0, 19)}  ${label}`,
      );
      if (why !== undefined) ctx.ui.notify(`Checkpoints are not available: ${why}.`);
      else ctx.ui.notify(lines.join("\n") || "No checkpoints yet.");
    },
  });
}
