import type { Entry } from "./entry.ts";
import type { EntryIndex } from "./entry-index.ts";

/** What a path was last worked on with; absent where it does not say. */
export interface PathSettings {
  model?: { provider: string; modelId: string };
  thinkingLevel?: string;
}

/** Takes older and older entries of a path, until both settings are known. */
export class PathSettingsSeeker {
  readonly found: PathSettings = {};

  get done(): boolean {
    return this.found.model !== undefined && this.found.thinkingLevel !== undefined;
  }

  /** True for a type of entry that can still tell something. */
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

/** Seeks on from a record towards the root, reading only entries that can tell something. */
export function seekInIndex(
  seeker: PathSettingsSeeker,
  from: { index: EntryIndex; number: number; entryAt: (number: number) => Entry | undefined },
): void {
  const { index, entryAt } = from;
  for (let at = from.number; at >= 0 && !seeker.done; at = index.parent(at)) {
    const entry = seeker.wants(index.type(at)) ? entryAt(at) : undefined;
    if (entry !== undefined) seeker.older(entry);
  }
}
