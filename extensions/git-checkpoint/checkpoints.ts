import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { type Checkpoint, checkpointAt, messageAt, TYPE } from "./remembered.ts";
import { type Change, Repository, TooSlow } from "./repository.ts";

/** Maximum number of changes in a question. */
const SHOWN = 12;

export interface CheckpointSettings {
  /** Restores files without a question if there is no user. */
  restoresUnasked: boolean;
  /** Checkpoints in the repository. */
  keep: number;
  /** Time limit of one call of git. */
  limitMs: number;
}

/** Takes and restores checkpoints of a session. A failure is a notice and never stops the work. */
export class Checkpoints {
  readonly #bonsai: ExtensionAPI;
  readonly #settings: () => CheckpointSettings;
  /** Notified problems: most of them come with every turn. */
  readonly #notified = new Set<string>();
  #opened: Promise<Repository | string> | undefined;
  /** The tree of the files at this place, as last seen. */
  #latestTree: string | undefined;

  constructor(bonsai: ExtensionAPI, settings: () => CheckpointSettings) {
    this.#bonsai = bonsai;
    this.#settings = settings;
  }

  /** Takes a checkpoint if a file changed since the latest one. */
  take(ctx: ExtensionContext, { entryId, label }: Pick<Checkpoint, "entryId" | "label">): Promise<void> {
    const onFailure = (why: string) => this.#notifyOnce(ctx, "Could not save a file checkpoint", why);
    return this.#guarded(ctx, onFailure, async (repository) => {
      const { tree, problem } = await repository.tree();
      if (problem !== undefined) this.#notifyOnce(ctx, "A file checkpoint is not complete", problem);
      if (tree === this.#latestTree) return;
      const { commit } = await repository.commit(tree, message(ctx, entryId));
      await this.#remember(repository, ctx, { commit, tree, entryId, label });
      this.#latestTree = tree;
    });
  }

  /** Restores the files of a place in the tree, if the user agrees. */
  restore(
    ctx: ExtensionContext,
    { leafId, oldLeafId }: { leafId: string | null; oldLeafId: string | null },
  ): Promise<void> {
    const onFailure = (why: string) => ctx.ui.notify(`Could not restore the files: ${why}`, "warning");
    return this.#guarded(ctx, onFailure, async (repository) => {
      const wanted = checkpointAt(ctx, leafId);
      this.#latestTree = undefined;
      if (wanted === undefined) return;
      const { tree } = await repository.tree();
      const changes = await repository.changes(tree, wanted.tree);
      if (changes === undefined)
        throw new Error(`the checkpoint ${wanted.commit.slice(0, 7)} no longer exists`);
      if (changes.length === 0) return;
      const why = await refusal(repository, ctx, { changes, ...this.#settings() });
      if (why !== undefined) return ctx.ui.notify(why);
      const { commit } = await repository.commit(tree, message(ctx, oldLeafId));
      // Keeps the current files too.
      const [entryId, label] = [messageAt(ctx, oldLeafId), "before restoring files"];
      await this.#remember(repository, ctx, { commit, tree, entryId, label, isElsewhere: true });
      await repository.exchange(tree, wanted.tree, changes);
      this.#latestTree = wanted.tree;
      ctx.ui.notify(
        `Restored the files. ${counted(changes)}. Checkpoint of the previous state: ${commit.slice(0, 7)}`,
      );
    });
  }

  /** The reason why checkpoints are not available. */
  async whyNone(ctx: ExtensionContext): Promise<string | undefined> {
    const found = await this.#repository(ctx);
    return typeof found === "string" ? found : undefined;
  }

  async close(): Promise<void> {
    const last = await this.#opened;
    this.#opened = undefined;
    this.#latestTree = undefined;
    this.#notified.clear();
    if (typeof last === "object") last.close();
  }

  #repository({ cwd }: ExtensionContext): Promise<Repository | string> {
    const { limitMs } = this.#settings();
    this.#opened ??= Repository.open({ exec: this.#bonsai.exec, cwd, limitMs });
    return this.#opened;
  }

  async #guarded(
    ctx: ExtensionContext,
    onFailure: (why: string) => void,
    work: (repository: Repository) => Promise<void>,
  ): Promise<void> {
    const found = await this.#repository(ctx);
    if (typeof found === "string") return;
    try {
      await work(found);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof TooSlow)) return onFailure(why);
      this.#notifyOnce(ctx, "Checkpoints are off for this session", why);
      found.close();
      this.#opened = Promise.resolve(why);
    }
  }

  async #remember(
    repository: Repository,
    ctx: ExtensionContext,
    checkpoint: Omit<Checkpoint, "at">,
  ): Promise<void> {
    await repository.keep(checkpoint, ctx.sessionManager.getSessionId(), this.#settings().keep);
    this.#bonsai.appendEntry<Checkpoint>(TYPE, { ...checkpoint, at: new Date().toISOString() });
  }

  #notifyOnce(ctx: ExtensionContext, trouble: string, why: string): void {
    if (!this.#notified.has(trouble)) ctx.ui.notify(`${trouble}: ${why}`, "warning");
    this.#notified.add(trouble);
  }
}

function message(ctx: ExtensionContext, entryId: string | null): string {
  return `Bonsai checkpoint\n\nSession: ${ctx.sessionManager.getSessionId()}\nEntry: ${entryId ?? "none"}`;
}

/** The reason not to restore the files, or undefined. */
async function refusal(
  repository: Repository,
  ctx: ExtensionContext,
  { changes, restoresUnasked }: { changes: Change[]; restoresUnasked: boolean },
): Promise<string | undefined> {
  const underWay = repository.underWay();
  if (underWay !== undefined) return `Did not restore the files: a git ${underWay} is in progress.`;
  if (!ctx.hasUI)
    return restoresUnasked
      ? undefined
      : "Did not restore the files. Use --checkpoint-restore to restore them.";
  const lines = changes.slice(0, SHOWN).map(({ kind, path }) => `  ${kind} ${path}`);
  const more = changes.length > SHOWN ? [`  and ${changes.length - SHOWN} more`] : [];
  const question = [`${counted(changes)}:`, ...lines, ...more].join("\n");
  const isWanted = await ctx.ui.confirm("Restore the files too?", question);
  return isWanted ? undefined : "Did not restore the files.";
}

function counted(changes: Change[]): string {
  const of = (kind: Change["kind"]) => changes.filter((change) => change.kind === kind).length;
  const parts = (["changed", "added", "deleted"] as const).filter((kind) => of(kind) > 0);
  return `Files: ${parts.map((kind) => `${of(kind)} ${kind}`).join(", ")}`;
}
