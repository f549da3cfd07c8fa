import type { Message } from "@bonsai-agent/messages";
import type { CatalogueModel } from "../model.ts";
import {
  type Repair,
  type RepairContext,
  type RepairKind,
  type RepairPass,
  repairImages,
  repairOf,
} from "./repair.ts";
import { repairCallIds, repairPairs } from "./repair-calls.ts";
import {
  repairAnswers,
  repairBeginning,
  repairContent,
  repairEmpties,
  repairText,
  repairThinking,
} from "./repair-content.ts";

/** A context, and who will read it. */
export interface RepairMessagesOptions {
  /** The context, oldest first; may be damaged in any way. */
  messages: readonly Message[];
  /** Who will read it. */
  model: CatalogueModel;
  /**
   * When the context was last edited, in milliseconds since the epoch: signed thinking of older answers is left out.
   * Compactions are seen by themselves. Default: never.
   */
  prefixChangedAtMs?: number | undefined;
  /** Leave out all thinking of answers up to this time, in milliseconds since the epoch. Default: what is sound stays. */
  dropThinkingUpToMs?: number | undefined;
}

/** A context that providers take. */
export interface RepairedMessages {
  /** The same array where nothing was wrong. */
  messages: readonly Message[];
  /** One for each kind; empty for a sound context. */
  repairs: readonly Repair[];
}

/** Each pass may rely on what those before it have mended: sound blocks first, what leaves nothing behind last. */
const passes: readonly RepairPass[] = [
  repairContent,
  repairAnswers,
  repairThinking,
  repairText,
  repairCallIds,
  repairImages,
  repairEmpties,
  repairPairs,
  repairBeginning,
];

/**
 * Mends what providers refuse. Pure. Invariant: a sound context comes back as the same array, and what comes back is
 * sound. `messages` that hold no word at all come back empty.
 */
export function repairMessages(options: RepairMessagesOptions): RepairedMessages {
  const { messages, model, prefixChangedAtMs, dropThinkingUpToMs } = options;
  const counts = new Map<RepairKind, number>();
  const context: RepairContext = {
    model,
    prefixChangedAtMs,
    dropThinkingUpToMs,
    found: (kind, count = 1) => {
      counts.set(kind, (counts.get(kind) ?? 0) + count);
    },
  };
  const sound = passes.reduce((sum, pass) => pass(sum, context), messages);
  return { messages: sound, repairs: [...counts].map(([kind, count]) => repairOf(kind, count)) };
}
