import { contentText, estimateTokens, type Message } from "@bonsai-agent/messages";
import {
  escapeMarks,
  type MARKS,
  paragraphs,
  readSummary,
  skillCallIn,
  splitReminders,
} from "@bonsai-agent/messages/host";
import type { Entry } from "@bonsai-agent/session";
import { type StoredDetails, storedDetails } from "../details.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";
import { FileOperationCounter } from "../record/file-operations.ts";

/** The files that a summary lists. */
export interface FileLists {
  /** Sorted; without the modified ones. */
  readFiles: readonly string[];
  /** Sorted. */
  modifiedFiles: readonly string[];
  /** The files that the summary shows: the most recently touched of each list, latest first. */
  recentFiles: readonly string[];
  /** For each recent file, the entry that touched it last. Empty if unknown. */
  recentEntries: readonly string[];
}

/** Maximum shown files of one list in a summary; the others are counted. */
const SHOWN_FILES = 40;
/** Maximum tokens of both lists in a summary. Modified files come first. */
const SHOWN_TOKENS = 600;
const SHOWN_MODIFIED_TOKENS = 420;
/** Maximum files of each list in the details. */
const STORED_FILES = 2_000;

/** The files of a span and of earlier summaries. Modified wins over read. */
export function filesOf(
  span: readonly ViewItem[],
  earlierSummaries: readonly (Entry | undefined)[],
): FileLists {
  const counter = new FileOperationCounter();
  const messages = span.map(originalMessage);
  messages.forEach((message, at) => {
    counter.add(message, span[at]!.entryId);
  });
  const now = counter.operations();
  const earlier = earlierSummaries.filter(isSummary).map(listedFiles).reverse();
  const renamed = (files: readonly string[]) => files.flatMap((file) => counter.renamed(file) ?? []);
  const modified = unique([...now.modified, ...renamed(earlier.flatMap(latestFirst("modifiedFiles")))]);
  const isModified = new Set(modified);
  const read = unique([
    ...calledSkills(messages),
    ...now.read,
    ...renamed(earlier.flatMap(latestFirst("readFiles"))),
  ])
    .filter((file) => !isModified.has(file))
    .sort(skillsFirst);
  const shownModified = shown(modified, SHOWN_MODIFIED_TOKENS);
  const left = SHOWN_TOKENS - shownModified.reduce((sum, file) => sum + lineTokens(file), 0);
  const recentFiles = [...shownModified, ...shown(read, left)];
  const entries = [counter.entries(), ...earlier.map(recentEntryOf)];
  const entryOf = (file: string) => entries.map((known) => known.get(file)).find(Boolean) ?? "";
  return {
    readFiles: stored(read),
    modifiedFiles: stored(modified),
    recentFiles,
    recentEntries: recentFiles.map(entryOf),
  };
}

function isSummary(entry: Entry | undefined): boolean {
  return entry?.type === "compaction" || entry?.type === "branch_summary";
}

/** The details of an earlier summary. If they have no lists, the lists at the end of its text. */
function listedFiles(entry: Entry | undefined): StoredDetails {
  const details = storedDetails(entry);
  if (
    entry?.type !== "compaction" ||
    entry.fromHook ||
    (details.readFiles ?? details.modifiedFiles) !== undefined
  )
    return details;
  const { carried } = readSummary(typeof entry.summary === "string" ? entry.summary : "");
  const listed = (tag: (typeof MARKS.tags)[number]) =>
    (carried.get(tag) ?? []).filter((line) => line.trim() !== "").map(fileIn);
  return { ...details, readFiles: listed("read-files"), modifiedFiles: listed("modified-files") };
}

/** The entry of each file that a summary shows. */
export function recentEntryOf({ recentFiles, recentEntries }: StoredDetails): ReadonlyMap<string, string> {
  return new Map(recentFiles.map((file, at) => [file, recentEntries[at] ?? ""]));
}

/** The files of the skills that the user called, the latest first. */
function calledSkills(messages: readonly Message[]): string[] {
  const calls = messages.flatMap((message) =>
    message.role === "user"
      ? (skillCallIn(splitReminders(contentText(message.content)).own.trim()) ?? [])
      : [],
  );
  return calls.map(({ path }) => path).reverse();
}

/** Skills come first: they are instructions that the model needs to find again. It finds other files by their names. */
function skillsFirst(a: string, b: string): number {
  return Number(isSkill(b)) - Number(isSkill(a));
}

function isSkill(file: string): boolean {
  return /(?:^|[/\\])SKILL\.md$/.test(file);
}

/** One list of an earlier summary, its most recently touched files first. */
function latestFirst(list: "readFiles" | "modifiedFiles") {
  return ({ recentFiles, [list]: files = [] }: StoredDetails) => {
    const listed = new Set(files);
    return [...recentFiles.filter((file) => listed.has(file)), ...files];
  };
}

/** The files that fit. Skips a file that is too long for the rest; it is counted with the others. */
function shown(latestFirst: readonly string[], maxTokens: number): string[] {
  let tokens = 0;
  const files: string[] = [];
  for (const file of latestFirst) {
    if (files.length === SHOWN_FILES) break;
    const size = lineTokens(file);
    if (tokens + size > maxTokens) continue;
    tokens += size;
    files.push(file);
  }
  return files;
}

function lineTokens(file: string): number {
  return estimateUpward(`${fileLine(file)}\n`);
}

function stored(latestFirst: readonly string[]): string[] {
  return latestFirst.slice(0, STORED_FILES).sort();
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** The lists of files, as a summary contains them. */
export function renderFiles(files: FileLists): string {
  const recent = new Set(files.recentFiles);
  return paragraphs([
    block("read-files", shownLines(files.readFiles, recent)),
    block("modified-files", shownLines(files.modifiedFiles, recent)),
  ]);
}

function shownLines(files: readonly string[], recent: ReadonlySet<string>): string[] {
  const lines = files
    .filter((file) => recent.has(file))
    .sort(skillsFirst)
    .map(fileLine);
  const others = files.length - lines.length;
  return others === 0 ? lines : [...lines, `(and ${others} older)`];
}

/** A name on its own line. Quoted as JSON if it would break the line or read as something else. */
function fileLine(file: string): string {
  const isPlain = file === file.trim() && !/[\p{Cc}\u2028\u2029]/u.test(file) && !/^(?:"|\(and )/.test(file);
  if (isPlain && escapeMarks(file) === file) return file;
  return JSON.stringify(file).replaceAll(
    /[<[#*]|[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Reads a name that `fileLine` wrote. */
export function fileIn(line: string): string {
  const text = line.trim();
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // Another program wrote a name that begins with a quotation mark.
    return text;
  }
}

/**
 * Wraps lines in a tag; empty without lines. Escapes marks in the lines.
 * @param tags tags of extensions in the same summary, which are escaped too
 */
export function block(tag: string, lines: readonly string[], tags: readonly string[] = []): string {
  return lines.length === 0
    ? ""
    : `<${tag}>\n${lines.map((line) => escapeMarks(line, tags)).join("\n")}\n</${tag}>`;
}

/** Estimates can be this many times too low on paths and values. */
const SAFETY_FACTOR = 1.1;

/** Estimates tokens rather too high than too low, for texts that must stay within a bound. */
export function estimateUpward(text: string): number {
  return Math.ceil(estimateTokens(text) * SAFETY_FACTOR);
}
