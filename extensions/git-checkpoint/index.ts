import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { type Change, Repository, type Snapshot, TooSlow } from "./repository.ts";

const TYPE = "git-checkpoint";
const SHOWN = 12;

/** What is remembered in the session. */
interface Checkpoint extends Snapshot {
  /** The files were so at this entry and behind it; null: before the first. */
  entryId: string | null;
  /** ISO 8601. */
  at: string;
  /** For people. */
  label: string;
  /** It is not of the place in the tree where its own entry stands. */
  isElsewhere?: boolean;
}

/** Snapshots of the files beside the session's tree, so that `/tree` can bring back both. */
export default function gitCheckpoint(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("checkpoint-restore", {
    type: "boolean",
    description:
      "Where nobody can be asked, bring files back with /tree. Default: BONSAI_CHECKPOINT_RESTORE=1, else not",
  });
  bonsai.registerFlag("checkpoint-keep", {
    type: "string",
    description: "Checkpoints to keep in a repository. Default: BONSAI_CHECKPOINT_KEEP, else 200",
  });
  bonsai.registerFlag("checkpoint-seconds", {
    type: "string",
    description: "How long git may take. Default: BONSAI_CHECKPOINT_SECONDS, else 10",
  });
  const number = (flag: string, usual: number) => {
    const said = Number(
      bonsai.getFlag(flag) || process.env[`BONSAI_${flag.toUpperCase().replaceAll("-", "_")}`],
    );
    return said > 0 ? said : usual;
  };
  const restores = () =>
    bonsai.getFlag("checkpoint-restore") === true || process.env.BONSAI_CHECKPOINT_RESTORE === "1";

  let opened: Promise<Repository | string> | undefined;
  let latestTree: string | undefined;
  let prompt = "";
  let turn = 0;
  const told = new Set<string>();
  const repository = async (ctx: ExtensionContext) => {
    const limitMs = number("checkpoint-seconds", 10) * 1_000;
    opened ??= Repository.open({ exec: bonsai.exec, root: ctx.cwd, limitMs });
    return await opened;
  };
  const close = async () => {
    const last = await opened;
    opened = undefined;
    latestTree = undefined;
    if (typeof last === "object") last.close();
  };
  /** Of a kind of trouble that comes with every turn, the first is told. */
  const tellOnce = (ctx: ExtensionContext, trouble: string, why: string) => {
    if (!told.has(trouble)) ctx.ui.notify(`${trouble}: ${why}`, "warning");
    told.add(trouble);
  };
  /** What goes wrong never disturbs the work. */
  const guarded = async (
    ctx: ExtensionContext,
    onFailure: (why: string) => void,
    work: (repository: Repository) => Promise<void>,
  ) => {
    const found = await repository(ctx);
    if (typeof found === "string") return;
    try {
      await work(found);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof TooSlow)) return onFailure(why);
      tellOnce(ctx, "No more checkpoints in this session", why);
      found.close();
      opened = Promise.resolve(why);
    }
  };
  const remember = async (found: Repository, ctx: ExtensionContext, checkpoint: Omit<Checkpoint, "at">) => {
    await found.keep(checkpoint, ctx.sessionManager.getSessionId(), number("checkpoint-keep", 200));
    bonsai.appendEntry<Checkpoint>(TYPE, { ...checkpoint, at: new Date().toISOString() });
  };
  const take = (ctx: ExtensionContext, entryId: string | null, label: string) =>
    guarded(
      ctx,
      (why) => tellOnce(ctx, "No checkpoint of the files", why),
      async (found) => {
        const { problem, ...snapshot } = await found.snapshot(message(ctx, entryId));
        if (problem !== undefined) tellOnce(ctx, "Checkpoints of the files are not complete", problem);
        if (snapshot.tree === latestTree) return;
        await remember(found, ctx, { ...snapshot, entryId, label });
        latestTree = snapshot.tree;
      },
    );
  const giveBack = (ctx: ExtensionContext, leafId: string | null, oldLeafId: string | null) =>
    guarded(
      ctx,
      (why) => ctx.ui.notify(`The files stay as they are: ${why}`, "warning"),
      async (found) => {
        const wanted = checkpointAt(ctx, leafId);
        latestTree = undefined;
        if (wanted === undefined) return;
        if (!(await found.has(wanted.commit)))
          throw new Error(`their checkpoint ${wanted.commit.slice(0, 7)} is gone`);
        const now = await found.snapshot(message(ctx, oldLeafId));
        const changes = await found.changes(now, wanted);
        if (changes.length === 0) return;
        const why = await refusal(found, ctx, changes, restores());
        if (why !== undefined) return ctx.ui.notify(why);
        // Nothing is lost: what is here now can be gone back to.
        await remember(found, ctx, {
          commit: now.commit,
          tree: now.tree,
          entryId: messageAt(ctx, oldLeafId),
          label: "before files were brought back",
          isElsewhere: true,
        });
        await found.exchange(now, wanted);
        latestTree = wanted.tree;
        ctx.ui.notify(`${counted(changes)} as at that place. As they were before: ${now.commit.slice(0, 7)}`);
      },
    );

  bonsai.on("session_start", async ({ reason }, ctx) => {
    await close();
    if (reason === "fork") await giveBack(ctx, ctx.sessionManager.getLeafId(), null);
  });
  bonsai.on("session_shutdown", close);
  bonsai.on("before_agent_start", async (event, ctx) => {
    [prompt, turn] = [event.prompt.replaceAll(/\s+/g, " ").slice(0, 60), 0];
    await take(ctx, messageAt(ctx, ctx.sessionManager.getLeafId()), `before "${prompt}"`);
  });
  bonsai.on("turn_end", async ({ toolResultEntryIds }, ctx) => {
    turn += 1;
    const last = toolResultEntryIds.at(-1);
    if (last !== undefined) await take(ctx, last, `turn ${turn} of "${prompt}"`);
  });
  bonsai.on("session_tree", ({ newLeafId, oldLeafId }, ctx) => giveBack(ctx, newLeafId, oldLeafId));

  bonsai.registerCommand("checkpoints", {
    description: "List the checkpoints of the files",
    async handler(_args, ctx) {
      const found = await repository(ctx);
      const all = checkpoints(ctx).toReversed();
      const lines = all
        .slice(0, 30)
        .map(({ commit, at, label }) => `${commit.slice(0, 7)}  ${at.slice(0, 19)}  ${label}`);
      const why =
        typeof found === "string" ? `There are no checkpoints: ${found}.` : "There are no checkpoints yet.";
      ctx.ui.notify(lines.length === 0 || typeof found === "string" ? why : lines.join("\n"));
    },
  });
}

function message(ctx: ExtensionContext, entryId: string | null): string {
  return `Bonsai checkpoint\n\nSession: ${ctx.sessionManager.getSessionId()}\nEntry: ${entryId ?? "none"}`;
}

/** The message that an entry is or stands behind: what people go to in the tree. */
function messageAt({ sessionManager }: ExtensionContext, leafId: string | null): string | null {
  const way = leafId === null ? [] : sessionManager.getBranch(leafId);
  return way.findLast(({ type }) => /message|summary|compaction/.test(type))?.id ?? null;
}

function checkpoints({ sessionManager }: ExtensionContext): (Checkpoint & { id: string })[] {
  return sessionManager.getEntries().flatMap((entry) => {
    if (entry.type !== "custom" || entry.customType !== TYPE) return [];
    const data = entry.data as Partial<Checkpoint> | undefined;
    const isWhole =
      /^[0-9a-f]{40,64}$/.test(data?.commit ?? "") && /^[0-9a-f]{40,64}$/.test(data?.tree ?? "");
    return isWhole ? [{ entryId: null, at: "", label: "", ...(data as Snapshot), id: entry.id }] : [];
  });
}

/** The latest one at the nearest entry on the way to the root. */
function checkpointAt(ctx: ExtensionContext, leafId: string | null): Checkpoint | undefined {
  const all = new Map<string, Checkpoint>();
  for (const checkpoint of checkpoints(ctx)) {
    all.set(checkpoint.entryId ?? "", checkpoint);
    if (checkpoint.isElsewhere !== true) all.set(checkpoint.id, checkpoint);
  }
  const way = leafId === null ? [] : ctx.sessionManager.getBranch(leafId).toReversed();
  const nearest = way.find(({ id }) => all.has(id));
  return all.get(nearest?.id ?? "");
}

/** Why the files stay as they are; undefined where they may be exchanged. */
async function refusal(
  found: Repository,
  ctx: ExtensionContext,
  changes: Change[],
  restoresUnasked: boolean,
): Promise<string | undefined> {
  const underWay = await found.underWay();
  if (underWay !== undefined) return `A ${underWay} is under way in git: the files stay as they are.`;
  if (!ctx.hasUI)
    return restoresUnasked
      ? undefined
      : "The files stay as they are: --checkpoint-restore brings them back too.";
  const lines = changes.slice(0, SHOWN).map(({ kind, path }) => `  ${kind} ${path}`);
  const more = changes.length > SHOWN ? [`  and ${changes.length - SHOWN} more`] : [];
  const question = [`${counted(changes)}, as at that place:`, ...lines, ...more].join("\n");
  const isWanted = await ctx.ui.confirm("Bring the files back too?", question);
  return isWanted ? undefined : "The files stay as they are.";
}

function counted(changes: Change[]): string {
  const of = (kind: Change["kind"]) => changes.filter((change) => change.kind === kind).length;
  const parts = (["changed", "added", "deleted"] as const).filter((kind) => of(kind) > 0);
  return `Files: ${parts.map((kind) => `${of(kind)} ${kind}`).join(", ")}`;
}
