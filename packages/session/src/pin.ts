import { type CompactionEntry, type Entry, PIN_CUSTOM_TYPE, UNPIN_CUSTOM_TYPE } from "./entry.ts";

/** What an entry says of a pinned text. */
export interface PinChange {
  /** Word for word. */
  text: string;
  /** The text as it stands in a summary that carries it, on lines of its own. */
  line: string;
  isPinned: boolean;
}

/** What an entry pins or unpins; undefined for any other, and where its details are damaged. */
export function pinChange(entry: Entry): PinChange | undefined {
  return entry.type === "custom_message" ? pinChangeIn(entry) : undefined;
}

/** The same of a message as front ends have it. */
export function pinChangeIn({
  customType,
  details,
}: {
  customType?: unknown;
  details?: unknown;
}): PinChange | undefined {
  if (customType !== PIN_CUSTOM_TYPE && customType !== UNPIN_CUSTOM_TYPE) return undefined;
  const { text, line } = (details ?? {}) as Partial<Record<string, unknown>>;
  if (typeof text !== "string" || typeof line !== "string" || line.trim() === "") return undefined;
  return { text, line, isPinned: customType === PIN_CUSTOM_TYPE };
}

/**
 * The pins, and what was said about them, that the model need not see: what the summary says already, what was taken
 * back, what is said twice.
 *
 * Invariant: a text that is pinned is in the view exactly once; one that is not is there only where the summary holds it,
 * with the word that it counts no more.
 */
export function needlessPins(
  visible: readonly Entry[],
  compaction: CompactionEntry | undefined,
): ReadonlySet<Entry> {
  const needless = new Set<Entry>();
  /** By line: what says how it stands with that text now. */
  const telling = new Map<string, { entry: Entry; isPinned: boolean }>();
  for (const entry of visible) {
    const change = pinChange(entry);
    if (change === undefined) continue;
    const earlier = telling.get(change.line);
    const isNews = earlier?.isPinned !== change.isPinned;
    if (isNews) telling.set(change.line, { entry, isPinned: change.isPinned });
    const silenced = isNews ? earlier?.entry : entry;
    if (silenced !== undefined) needless.add(silenced);
  }
  for (const [line, { entry, isPinned }] of telling)
    if (holdsLine(compaction?.summary, line) === isPinned) needless.add(entry);
  return needless;
}

function holdsLine(summary: unknown, line: string): boolean {
  return typeof summary === "string" && `\n${summary}\n`.includes(`\n${line}\n`);
}
