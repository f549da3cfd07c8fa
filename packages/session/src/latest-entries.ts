import type { Entry } from "./entry.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import type { SessionReader } from "./read/session-reader.ts";

/** The labels and the name: of each, the latest entry in file order decides. Reads only what is new each time. */
export class LatestEntries {
  readonly #reader: SessionReader;
  readonly #labels = new Map<string, string>();
  #name: string | undefined;
  #labelsReadTo = 0;
  #namesReadTo = 0;
  #index: EntryIndex | undefined;

  constructor(reader: SessionReader) {
    this.#reader = reader;
  }

  label(entryId: string): string | undefined {
    return this.labels().get(entryId);
  }

  labels(): ReadonlyMap<string, string> {
    const index = this.#newIndex(this.#labelsReadTo);
    for (const number of index.numbersOf("label", this.#labelsReadTo)) this.#readLabel(number);
    this.#labelsReadTo = index.settledCount;
    return this.#labels;
  }

  name(): string | undefined {
    const index = this.#newIndex(this.#namesReadTo);
    for (const number of index.numbersOf("session_info", this.#namesReadTo).reverse()) {
      const entry = this.#reader.entryAt(number);
      if (entry?.type !== "session_info") continue;
      this.#name = typeof entry.name === "string" && entry.name !== "" ? entry.name : undefined;
      break;
    }
    this.#namesReadTo = index.settledCount;
    return this.#name;
  }

  /** The index as it is now; where it is another or a shorter one, what was read before counts no more. */
  #newIndex(readTo: number): EntryIndex {
    const index = this.#reader.index();
    if (index !== this.#index || index.count < readTo) this.#forget();
    this.#index = index;
    return index;
  }

  #forget(): void {
    this.#labels.clear();
    this.#name = undefined;
    this.#labelsReadTo = this.#namesReadTo = 0;
  }

  #readLabel(number: number): void {
    const entry = this.#reader.entryAt(number);
    if (entry?.type !== "label") return;
    if (typeof entry.label === "string" && entry.label !== "") this.#labels.set(entry.targetId, entry.label);
    else this.#labels.delete(entry.targetId);
  }
}

/** The last model and thinking level of a path; absent if no entry names them. */
export interface PathSettings {
  model?: { provider: string; modelId: string };
  thinkingLevel?: string;
}

/**
 * The settings of a path, read from its end.
 * @param view the end of the path that is in memory; what stands before it is looked up in the index, reading only entries
 *   that matter.
 */
export function pathSettings(
  { entries, reachesRoot }: { entries: readonly Entry[]; reachesRoot: boolean },
  reader: SessionReader,
): PathSettings {
  const seeker = new SettingsSeeker();
  for (let at = entries.length - 1; at >= 0 && !seeker.done; at -= 1) seeker.older(entries[at]!);
  if (seeker.done || reachesRoot || entries.length === 0) return seeker.found;
  const index = reader.index();
  for (let at = reader.find(entries[0]!.id); at >= 0 && !seeker.done; at = index.parent(at)) {
    const entry = seeker.wants(index.type(at)) ? reader.entryAt(at) : undefined;
    if (entry !== undefined) seeker.older(entry);
  }
  return seeker.found;
}

/** The settings that the newer part of a path names. */
export interface RecentSettings extends PathSettings {
  /** True where that part is the whole path. */
  isWhole: boolean;
}

/** @param tail entries of a path, newest first */
export function recentSettings(tail: Iterable<Entry>): RecentSettings {
  const seeker = new SettingsSeeker();
  let oldest: Entry | undefined;
  for (const entry of tail) {
    oldest = entry;
    seeker.older(entry);
    if (seeker.done) break;
  }
  return { ...seeker.found, isWhole: (oldest?.parentId ?? null) === null };
}

/** Takes older and older entries of a path, until both settings are known. */
class SettingsSeeker {
  readonly found: PathSettings = {};

  get done(): boolean {
    return this.found.model !== undefined && this.found.thinkingLevel !== undefined;
  }

  /** True for a type of entry that can hold what is not known yet. */
  wants(type: string): boolean {
    if (type === "thinking_level_change") return this.found.thinkingLevel === undefined;
    return (type === "model_change" || type === "message") && this.found.model === undefined;
  }

  older(entry: Entry): void {
    if (entry.type === "thinking_level_change") this.found.thinkingLevel ??= entry.thinkingLevel;
    if (entry.type === "model_change") this.#foundModel(entry.provider, entry.modelId);
    if (entry.type === "message" && entry.message?.role === "assistant") {
      this.#foundModel(entry.message.provider, entry.message.model);
    }
  }

  #foundModel(provider: unknown, modelId: unknown): void {
    if (typeof provider !== "string" || typeof modelId !== "string") return;
    this.found.model ??= { provider, modelId };
  }
}
