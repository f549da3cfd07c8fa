import { answerUsage } from "@bonsai-agent/messages/host";
import { answeringModel, type Entry, pinChange, type Session } from "@bonsai-agent/session";
import { compactionChange } from "@bonsai-agent/session/host";
import type { CompactionFacts, PageModel, PageRequest, PageView } from "./page-data.ts";
import { pathTo, type ViewedPage, viewRows } from "./paths.ts";

/** Facts about models that the requests need. */
export interface RequestOptions {
  modelSizes?: ModelSizes | undefined;
  /** True for an answer that was refused for the size of its request. Default: never */
  isOverflow?: ((answer: { errorMessage?: string; provider: string; model: string }) => boolean) | undefined;
}

/** Tokens of a model's window, and those at which a compaction is made. */
export type ModelSizes = (
  provider: string,
  model: string,
) => { windowTokens: number; thresholdTokens: number } | undefined;

/** Collects the requests of a session with their views. Entries come in file order. */
export class RequestRows {
  readonly requests: PageRequest[] = [];
  readonly models: PageModel[] = [];
  readonly #data: ViewedPage;
  readonly #options: RequestOptions;
  readonly #rowOf: (id: string) => number;
  readonly #modelNumbers = new Map<string, number>();
  /** The view after each row. Most rows share their parent's view. */
  readonly #views: PageView[] = [];

  /** @param data grows as entries come */
  constructor(data: ViewedPage, rowOf: (id: string) => number, options: RequestOptions) {
    this.#data = data;
    this.#rowOf = rowOf;
    this.#options = options;
  }

  /** The entry of the latest row. */
  add(session: Session, entry: Entry, row: number): void {
    const parent = this.#data.rows.parents[row]!;
    const before = parent < 0 ? { compaction: -1, from: row } : this.#views[parent]!;
    // An edit changes one entry, not where the view begins.
    const changes = compactionChange(entry) !== undefined || pinChange(entry) !== undefined;
    const isNew = entry.type === "compaction" || changes;
    this.#views.push(isNew ? this.#viewAt(session, entry.id, row) : before);
    if (entry.type === "message" && entry.message?.role === "assistant") this.#addAnswer(entry, row, before);
  }

  /** The view of the projection at an entry. */
  #viewAt(session: Session, id: string, row: number): PageView {
    const { items, compaction } = session.projection(id);
    const path = pathTo(this.#data.rows.parents, row);
    const seen = items.map(({ entryId }) => this.#rowOf(entryId));
    const summary = compaction === undefined ? -1 : this.#rowOf(compaction.id);
    const kept = seen.find((each) => each !== summary);
    const from = summary < 0 ? path[0]! : kept === undefined || kept > summary ? summary : kept;
    const view: PageView = { compaction: summary, from };
    const known = new Set(seen);
    const inView = path.slice(Math.max(0, path.lastIndexOf(from)));
    const hidden = viewRows(this.#data, inView, view).flatMap((each) =>
      known.has(each.row) ? [] : [each.row],
    );
    return hidden.length === 0 ? view : { ...view, hidden };
  }

  #addAnswer(entry: Entry & { type: "message" }, row: number, view: PageView): void {
    const { message } = entry;
    if (message.role !== "assistant") return;
    const [provider, model] = [String(message.provider), String(message.model)];
    const usage = (message.usage ?? {}) as Partial<typeof message.usage>;
    const isUncounted = answerUsage(message)?.isUncounted === true;
    const [input, cacheRead, cacheWrite, output] = classes.map((name) => count(usage[name]));
    const costs = usage.cost as Record<string, unknown> | undefined;
    const request: PageRequest = {
      row,
      model: this.#model(answeringModel(entry)!, provider, model),
      ...{ input: input!, cacheRead: cacheRead!, cacheWrite: cacheWrite!, output: output! },
      costUsd: count(costs?.total) > 0 && !isUncounted ? count(costs?.total) : null,
      view,
    };
    if (request.costUsd !== null) {
      const [fresh, read, written, out] = classes.map((name) => count(costs?.[name]));
      request.costs = { input: fresh!, cacheRead: read!, cacheWrite: written!, output: out! };
    }
    const { errorMessage } = message;
    if (message.stopReason === "error" && typeof errorMessage === "string")
      if (this.#options.isOverflow?.({ errorMessage, provider, model })) request.isOverflow = true;
    this.requests.push(request);
  }

  #model(name: string, provider: string, id: string): number {
    const known = this.#modelNumbers.get(name);
    if (known !== undefined) return known;
    this.models.push({ provider, id, ...this.#options.modelSizes?.(provider, id) });
    this.#modelNumbers.set(name, this.models.length - 1);
    return this.models.length - 1;
  }
}

const classes = ["input", "cacheRead", "cacheWrite", "output"] as const;

/** Recordings can lack parts of a usage or have other values than numbers. */
function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** Collects compactions with their undos and redos. */
export class CompactionRows {
  readonly compactions: CompactionFacts[] = [];
  readonly #byId = new Map<string, CompactionFacts>();

  add(entry: Entry, row: number, tokensAfter: (entry: Entry) => number | undefined): void {
    const change = compactionChange(entry);
    const changed = change === undefined ? undefined : this.#byId.get(change.compactionId);
    if (changed !== undefined) {
      changed.isUndone = change!.isUndone;
      (change!.isUndone ? changed.undoneAt : changed.redoneAt).push(row);
    }
    if (entry.type !== "compaction") return;
    const after = tokensAfter(entry);
    const tokensBefore = Number(entry.tokensBefore) || 0;
    const facts: CompactionFacts = { row, isUndone: false, undoneAt: [], redoneAt: [], tokensBefore };
    if (after !== undefined) facts.tokensAfter = after;
    this.compactions.push(facts);
    this.#byId.set(entry.id, facts);
  }
}
