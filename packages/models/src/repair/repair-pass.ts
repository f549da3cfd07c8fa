import type { Message } from "@bonsai-agent/messages";
import type { CatalogueModel } from "../catalogue-model.ts";
import type { RepairKind } from "./repair.ts";

/** What a pass may know beside the messages. */
export interface RepairContext {
  model: CatalogueModel;
  /** Thinking of answers before this time is bound to a context that has changed since. */
  prefixChangedAtMs: number | undefined;
  /** Leave out all thinking of answers up to this time, whoever it belongs to. */
  dropThinkingUpToMs: number | undefined;
  /** Counts a repair. */
  found(kind: RepairKind, count?: number): void;
}

/** One kind of repair. Pure but for `found`; sound messages come back as the same array. */
export type RepairPass = (messages: readonly Message[], context: RepairContext) => readonly Message[];

/** Maps a list, undefined leaving an item out; the same list where every item stayed what it was. */
export function mended<Item>(
  items: readonly Item[],
  mend: (item: Item, index: number) => Item | undefined,
): readonly Item[] {
  let changed: Item[] | undefined;
  for (const [index, item] of items.entries()) {
    const now = mend(item, index);
    if (now === item && now !== undefined) changed?.push(item);
    else {
      changed ??= items.slice(0, index);
      if (now !== undefined) changed.push(now);
    }
  }
  return changed ?? items;
}
