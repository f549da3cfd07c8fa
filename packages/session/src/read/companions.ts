import {
  type CompactionEntry,
  type CompactionFields,
  type ContextEditFields,
  type CustomEntry,
  customTypes,
  type Entry,
  type FormatFields,
} from "../entry.ts";
import { compactionChange, pinChange } from "../own-entries.ts";
import { changesView, project, ViewFinder } from "../projection.ts";
import type { Fields } from "./field-rules.ts";

/** The entries of ours that a line of the format's own types can hold. */
const HOLDING: ReadonlySet<unknown> = new Set([customTypes.companion, customTypes.undo, customTypes.redo]);
const HELD: ReadonlySet<unknown> = new Set<FormatFields["type"]>(["compaction", "context_edit"]);

/** An entry as its line has it: what other programs read of it stands on top. */
export function asStored(entry: Entry): Entry {
  if (entry.type !== "custom" || entry.inFormat === undefined) return entry;
  const { id, parentId, timestamp, customType, data, inFormat } = entry;
  const { type, ...fields } = inFormat;
  return { type, id, parentId, timestamp, customType, data, ...fields } as unknown as Entry;
}

/** An entry as we read its line: one that holds an entry of ours is that. */
export function asUnderstood(line: Fields): Fields {
  if (!HELD.has(line.type) || !HOLDING.has(line.customType)) return line;
  const { type, id, parentId, timestamp, customType, data, ...fields } = line;
  const own = { type: "custom", id, parentId, timestamp, customType, inFormat: { type, ...fields } };
  return data === undefined ? own : { ...own, data };
}

/** True for an entry behind which other programs may see something else than we do, if nobody tells them. */
export function needsCompanions(entry: Entry): boolean {
  return entry.type !== "context_edit" && changesView(entry);
}

/**
 * Adds to new entries what makes every program that knows the format see what `project` shows at the last of them: it
 * counts the latest compaction of a path, whatever was undone, and shows every pin. An undo or a redo then restates,
 * in its own line, the compaction that counts from there on; edits take out the pins that the model need not see. They
 * stand before the last entry, which stays the last: where a write is cut off before it, nothing is undone for anybody.
 * @param before the path that the new entries continue, at least as far back as the view at the last of them
 * @param added in the order of the path
 * @param newId gives an id that no entry has
 */
export function withCompanions(
  before: readonly Entry[],
  added: readonly Entry[],
  newId: () => string,
): Entry[] {
  const path = [...before, ...added];
  const entries = [...added];
  const edits = pinEdits(path);
  const at = added.findLastIndex((entry) => compactionChange(entry) !== undefined);
  const base = at < 0 ? undefined : restated(path);
  if (base !== undefined) {
    const change = added[at] as CustomEntry & Entry;
    entries[at] = { ...change, inFormat: base.compaction };
    if (base.isOmitted) edits.push({ type: "context_edit", targetId: change.id, replacement: null });
  }
  const { timestamp, parentId } = added[0]!;
  const companions = edits.map(
    (inFormat): Entry => ({
      type: "custom",
      id: newId(),
      parentId: null,
      timestamp,
      customType: customTypes.companion,
      inFormat,
    }),
  );
  entries.splice(-1, 0, ...companions);
  return entries.map((entry, place) => ({ ...entry, parentId: entries[place - 1]?.id ?? parentId }));
}

/** The beginning of a view. */
interface Base {
  /** Undefined where the view is the whole path. */
  summary: string | undefined;
  /** Place in the path of the first entry that is kept. */
  from: number;
}

/** The compaction that other programs are to count at the end of a path; undefined where they see the right one. */
function restated(path: readonly Entry[]): { compaction: CompactionFields; isOmitted: boolean } | undefined {
  const { compaction, from } = ownBase(path);
  const shown = shownSummary(path, compaction);
  const theirs = formatBase(path);
  if (theirs.summary === shown && theirs.from === from) return undefined;
  const restating: CompactionFields = {
    type: "compaction",
    summary: compaction?.summary ?? WHOLE,
    firstKeptEntryId: path[from]!.id,
    tokensBefore: compaction?.tokensBefore ?? 0,
  };
  return { compaction: restating, isOmitted: shown === undefined };
}

/** Shown by programs that cannot leave a summary out. */
const WHOLE = "Nothing is summarised here. The full conversation follows.";

function ownBase(path: readonly Entry[]): { compaction: CompactionEntry | undefined; from: number } {
  const { compaction, keptCount } = ViewFinder.in(path);
  return { compaction, from: path.length - keptCount };
}

function shownSummary(path: readonly Entry[], compaction: CompactionEntry | undefined): string | undefined {
  const isShown = compaction !== undefined && project(path).items[0]?.entryId === compaction.id;
  return isShown ? compaction.summary : undefined;
}

/** The base by the format's own rule: the latest compaction of the path counts, and an edit can leave its summary out. */
function formatBase(path: readonly Entry[]): Base {
  const at = path.findLastIndex((entry) => formatOf(entry)?.type === "compaction");
  if (at < 0) return { summary: undefined, from: 0 };
  const { summary, firstKeptEntryId } = formatOf(path[at]!) as CompactionFields;
  const { id } = path[at]!;
  const kept = firstKeptEntryId === id ? at : path.findIndex((entry) => entry.id === firstKeptEntryId);
  const edit = latestEdits(path.slice(Math.max(0, kept))).get(id);
  return { summary: edit?.replacement === null ? undefined : summary, from: kept };
}

/** Edits that make the pins of other programs' view the same as ours. */
function pinEdits(path: readonly Entry[]): ContextEditFields[] {
  const shown = new Map(project(path).items.map((item) => [item.entryId, item]));
  const visible = path.slice(ownBase(path).from);
  if (!visible.some((entry) => pinChange(entry) !== undefined)) return [];
  const latest = latestEdits(visible);
  return visible.flatMap((entry): ContextEditFields[] => {
    if (entry.type !== "custom_message" || pinChange(entry) === undefined) return [];
    const edit = latest.get(entry.id);
    const item = shown.get(entry.id);
    if ((item === undefined) === (edit?.replacement === null)) return [];
    const replacement = item === undefined ? null : (item.edit?.replacement ?? { content: entry.content });
    return [{ type: "context_edit", targetId: entry.id, replacement }];
  });
}

/** By target: the latest edit that a program finds which knows only the format. */
function latestEdits(visible: readonly Entry[]): Map<string, ContextEditFields> {
  const latest = new Map<string, ContextEditFields>();
  for (const entry of visible) {
    const fields = formatOf(entry);
    if (fields?.type === "context_edit") latest.set(fields.targetId, fields);
  }
  return latest;
}

function formatOf(entry: Entry): FormatFields | undefined {
  if (entry.type === "compaction" || entry.type === "context_edit") return entry;
  return entry.type === "custom" ? entry.inFormat : undefined;
}
