import type { Entry } from "@bonsai-agent/session";
import { originalMessage, type ViewItem } from "./context-view.ts";
import { fileOperations } from "./file-operations.ts";
import { inert, type OwnTag } from "./marks.ts";
import { isMadeHere, ownDetails, texts } from "./own-details.ts";
import { readSummary } from "./read-summary.ts";
import { highTokens } from "./summary-sizes.ts";

/** The files that a summary tells of. */
export interface FileLists {
  /** Sorted; without the modified ones. */
  readFiles: readonly string[];
  /** Sorted. */
  modifiedFiles: readonly string[];
  /** Those that the summary shows: of each list the ones that were touched last, the latest first. */
  recentFiles: readonly string[];
}

/** The files of one list that a summary shows; the others are counted. */
const SHOWN_FILES = 40;
/** What both lists may take of a summary; what was modified comes first. */
const SHOWN_TOKENS = 600;
const SHOWN_MODIFIED_TOKENS = 420;
/** Files that each list of the details keeps. */
const STORED_FILES = 2_000;

/** The lists of files after a span, with what earlier summaries listed. Modified wins over read. */
export function filesOf(
  span: readonly ViewItem[],
  earlierSummaries: ReadonlyArray<Entry | undefined>,
): FileLists {
  const now = fileOperations(span.map(originalMessage));
  const earlier = earlierSummaries.map(listedFiles).reverse();
  const modified = unique([...now.modified, ...earlier.flatMap((each) => each.modified)]);
  const isModified = new Set(modified);
  const read = unique([...now.read, ...earlier.flatMap((each) => each.read)]).filter(
    (file) => !isModified.has(file),
  );
  const shownModified = shown(modified, SHOWN_MODIFIED_TOKENS);
  const left = SHOWN_TOKENS - shownModified.reduce((sum, file) => sum + lineTokens(file), 0);
  return {
    readFiles: stored(read),
    modifiedFiles: stored(modified),
    recentFiles: [...shownModified, ...shown(read, left)],
  };
}

interface ListedFiles {
  read: readonly string[];
  modified: readonly string[];
}

const NONE: ListedFiles = { read: [], modified: [] };

/** What an earlier summary lists, the files that were touched last first: in its details, or else in its text. */
function listedFiles(entry: Entry | undefined): ListedFiles {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return NONE;
  if (entry.fromHook && !isMadeHere(entry.details)) return NONE;
  const { recentFiles, readFiles, modifiedFiles } = ownDetails(entry);
  if (!Array.isArray(readFiles) && !Array.isArray(modifiedFiles)) return inText(entry.summary);
  const recent = texts(recentFiles);
  return { read: latestFirst(texts(readFiles), recent), modified: latestFirst(texts(modifiedFiles), recent) };
}

function latestFirst(files: readonly string[], recent: readonly string[]): string[] {
  const listed = new Set(files);
  return unique([...recent.filter((file) => listed.has(file)), ...files]);
}

/** Where the details say nothing, as in a summary of an old version: what stands at its end. */
function inText(summary: unknown): ListedFiles {
  const { carried } = readSummary(typeof summary === "string" ? summary : "");
  const listed = (tag: OwnTag) =>
    (carried.get(tag) ?? []).flatMap((line) => (line.trim() === "" || more.test(line) ? [] : [fileIn(line)]));
  return { read: listed("read-files"), modified: listed("modified-files") };
}

/** The files with which the room is used up; one that is too long for it is among those that are counted. */
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
  return highTokens(`${fileLine(file)}\n`);
}

function stored(latestFirst: readonly string[]): string[] {
  return latestFirst.slice(0, STORED_FILES).sort();
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** The lists of files as they stand in a summary. */
export function renderFiles(files: FileLists): string {
  const recent = new Set(files.recentFiles);
  return [
    block("read-files", shownLines(files.readFiles, recent)),
    block("modified-files", shownLines(files.modifiedFiles, recent)),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}

const more = /^\(and [\d,]+ more, touched earlier\)$/;

function shownLines(files: readonly string[], recent: ReadonlySet<string>): string[] {
  const lines = files.filter((file) => recent.has(file)).map(fileLine);
  const others = files.length - lines.length;
  return others === 0 ? lines : [...lines, `(and ${others} more, touched earlier)`];
}

/** A name on a line of its own: in quotes, as JSON, where it would not stay one, or would read as something else. */
function fileLine(file: string): string {
  const isPlain = file === file.trim() && !/[\p{Cc}\u2028\u2029]/u.test(file) && !/^(?:"|\(and )/.test(file);
  if (isPlain && inert(file) === file) return file;
  const coded = /[\p{Cc}\u2028\u2029<[#*]|[^\x20-\x7e]/gu;
  return JSON.stringify(file).replaceAll(coded, (character) =>
    Array.from({ length: character.length }, (_, at) => hexEscape(character.charCodeAt(at))).join(""),
  );
}

function hexEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/** The name that `fileLine` wrote. */
function fileIn(line: string): string {
  const text = line.trim();
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // A name that begins with a quotation mark, as another program wrote it.
    return text;
  }
}

/**
 * Lines between tags, as the carry-over is written; empty for none. What the lines say ends no mark and begins none.
 * @param tags those of extensions that stand in the same summary
 */
export function block(tag: string, lines: readonly string[], tags: readonly string[] = []): string {
  return lines.length === 0
    ? ""
    : `<${tag}>\n${lines.map((line) => inert(line, tags)).join("\n")}\n</${tag}>`;
}
