import { startsTurn } from "@bonsai-agent/compaction";
import { contentBlocks, isRecord, type Message, tokenEstimator, typedText } from "@bonsai-agent/messages";
import { fitPath, type LinePart, lineText } from "@bonsai-agent/messages/numbers";
import {
  customTypes,
  type Entry,
  type EntryOf,
  entryParts,
  ownEntryWords,
  pinChange,
  type StoredMessage,
} from "@bonsai-agent/session";
import { projectEntry } from "@bonsai-agent/session/host";
import { type PageRows, type RowKind, rowFlags, rowKinds } from "./page-data.ts";

export const PREVIEW_CHARS = 120;
/** Rows of a list are narrow: of a longer path the last folders and the file's name are shown. */
const PATH_CHARS = 40;

export function emptyRows(): PageRows {
  return { ids: [], parents: [], kinds: [], times: [], previews: [], tokens: [], flags: [] };
}

/** Adds an entry as the next row. @param shown the redacted entry, for the preview */
export function addRow(rows: PageRows, entry: Entry, parent: number, shown: Entry): void {
  const message = contextMessage(entry);
  rows.ids.push(entry.id);
  rows.parents.push(parent);
  rows.kinds.push(rowKinds.indexOf(rowKind(entry)));
  rows.times.push(Date.parse(entry.timestamp) || 0);
  rows.previews.push(lineText(entryParts(shown).map(shortPath), PREVIEW_CHARS));
  rows.tokens.push(message === undefined ? 0 : tokenEstimator.message(message));
  rows.flags.push(flagsOf(entry, message));
}

function shortPath(part: LinePart): LinePart {
  return part.isPath === true ? { ...part, text: fitPath(part.text, PATH_CHARS) } : part;
}

/** The entry's message in a model's context. */
function contextMessage(entry: Entry): Message | undefined {
  return projectEntry(entry)?.message;
}

const customKinds = new Map<string, RowKind>([
  [customTypes.leaf, "leaf"],
  [customTypes.undo, "undo"],
  [customTypes.redo, "redo"],
]);

/** The row of each type of entry. A type without one does not compile. */
const TYPE_KINDS: { readonly [Type in Entry["type"]]: (entry: EntryOf<Type>) => RowKind } = {
  message: ({ message }) => roleKind(message?.role),
  compaction: () => "compaction",
  branch_summary: () => "branch summary",
  context_edit: () => "mask",
  custom_message: (entry) => (pinChange(entry) === undefined ? "note" : "pin"),
  custom: ({ customType }) => customKinds.get(customType) ?? "custom",
  label: () => "label",
  session_info: () => "name",
  model_change: () => "model",
  thinking_level_change: () => "thinking",
  usage: () => "usage",
};

const ROLE_KINDS: Readonly<Record<StoredMessage["role"], RowKind>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "result",
  bashExecution: "command",
  custom: "note",
  system: "note",
};

function roleKind(role: unknown): RowKind {
  if (typeof role !== "string" || role === "damagedMessage") return "damaged";
  return Object.hasOwn(ROLE_KINDS, role) ? ROLE_KINDS[role as StoredMessage["role"]] : "note";
}

/** Types of other programs are "custom". */
export function rowKind(entry: Entry): RowKind {
  if (!Object.hasOwn(TYPE_KINDS, entry.type)) return "custom";
  return (TYPE_KINDS[entry.type] as (entry: Entry) => RowKind)(entry);
}

function flagsOf(entry: Entry, message: Message | undefined): number {
  let flags = message === undefined ? 0 : rowFlags.speaks;
  const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
  const isSaid = !isSummary && pinChange(entry) === undefined;
  if (message !== undefined && isSaid && startsTurn(message)) flags |= rowFlags.turn;
  if (entry.type === "context_edit" && entry.replacement === null) flags |= rowFlags.omits;
  if (message !== undefined && isHidden(message)) flags |= rowFlags.hidden;
  if (entry.type !== "message" || !isRecord(entry.message)) return flags;
  const stored = entry.message;
  if (stored.role === "toolResult" && stored.isError) flags |= rowFlags.failed;
  if (stored.role === "assistant" && stored.stopReason === "error") flags |= rowFlags.failed;
  if (stored.role === "bashExecution" && (stored.exitCode ?? 0) !== 0) flags |= rowFlags.failed;
  if (hasImage(stored)) flags |= rowFlags.image;
  return flags;
}

/** True for a message of an extension or a program that is not to be displayed, and for one of the user without own words. */
function isHidden(message: Message): boolean {
  if (message.role === "custom") return message.display === false;
  return message.role === "user" && typedText(message) === "" && !hasImage(message);
}

function hasImage(message: object): boolean {
  return "content" in message && contentBlocks(message.content).some(({ type }) => type === "image");
}

/** A record in a few words; one of an extension has its own type. */
export function recordWord(entry: Entry & { type: "custom" }): string {
  return ownEntryWords(entry) ?? String(entry.customType);
}
