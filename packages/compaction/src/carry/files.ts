import {
  callsIn,
  contentText,
  estimateTokens,
  isRecord,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  withoutReminders,
} from "@bonsai-agent/messages";
import {
  CHANGE_ARGUMENTS,
  escapeMarks,
  type OwnTag,
  PATH_ARGUMENTS,
  PATH_LIST_ARGUMENTS,
  paragraphs,
  readSummary,
  SEARCH_ARGUMENTS,
  skillCallIn,
} from "@bonsai-agent/messages/host";
import type { Entry } from "@bonsai-agent/session";
import { isOwnDetails, storedDetails, texts } from "../details.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";

/** The files that some messages touched; each most recently touched first. */
export interface FileOperations {
  read: string[];
  modified: string[];
}

const patchKeys = ["patch", "diff", "input", "patchText", "patch_text"];
const changeNames =
  /^(?:write|edit|create|update|patch|apply|replace|insert|delete|remove|move|rename|multi_?edit|notebook_?edit|str_replace)/i;
const listNames = /^(?:ls|list|find|glob|grep|search|tree|view_directory|read_directory)/i;

/**
 * The files that tool calls of these messages read and modified, by the shape of their arguments. Failed calls do not
 * count. A sub-agent lists its files in the details of its result, even if it failed.
 */
export function fileOperations(messages: readonly Message[]): FileOperations {
  const counter = new FileOperationCounter();
  for (const message of messages) counter.add(message);
  return counter.operations();
}

/** Files that a call or a sub-agent touched. A failed call does not count. */
interface Touched extends FileOperations {
  created: readonly string[];
  failed: boolean;
}

/**
 * Collects file operations like `fileOperations`, message by message, oldest first. Keeps the names of files, but no
 * message.
 */
export class FileOperationCounter {
  /** Touched files by message, oldest first. */
  readonly #touched: Touched[][] = [];
  /** The latest call of each id. */
  readonly #calls = new Map<string, Touched>();

  add(message: Message): void {
    const touched = callsIn(message).map((call) => this.#called(call));
    if (message?.role === "toolResult") touched.push(this.#ended(message));
    const some = touched.filter(({ read, modified }) => read.length + modified.length > 0);
    if (some.length > 0) this.#touched.push(some);
  }

  operations(): FileOperations {
    const read = new Set<string>();
    const modified = new Set<string>();
    for (const each of this.#touched.toReversed().flat()) {
      if (each.failed) continue;
      for (const file of each.modified) modified.add(file);
      for (const file of each.read) read.add(file);
    }
    return { read: [...read].filter((file) => !modified.has(file)), modified: [...modified] };
  }

  /** New files among the modified ones, oldest first, if a call or its result shows that they are new. */
  created(): string[] {
    const done = this.#touched.flat().filter(({ failed }) => !failed);
    return [...new Set(done.flatMap(({ created }) => created))];
  }

  #called(call: ToolCall): Touched {
    const created = patchTexts(call).flatMap(addedFiles);
    const touched = { read: readBy(call), modified: modifiedBy(call), created, failed: false };
    this.#calls.set(call.id, touched);
    return touched;
  }

  /** Notes how a call ended. Returns the files that a sub-agent lists in its result. */
  #ended({ toolCallId, isError, details }: ToolResultMessage): Touched {
    const { created, readFiles, modifiedFiles } = isRecord(details) ? details : {};
    const call = this.#calls.get(toolCallId);
    if (call !== undefined && isError) call.failed = true;
    if (call !== undefined && created === true) call.created = call.modified;
    return { read: texts(readFiles), modified: texts(modifiedFiles), created: [], failed: false };
  }
}

function modifiedBy(call: ToolCall): string[] {
  const patched = patchTexts(call).flatMap(patchedFiles);
  const command = call.arguments?.command;
  const redirected = typeof command === "string" ? redirectedFiles(command) : [];
  return [...(isChange(call) ? namedFiles(call) : []), ...patched, ...redirected];
}

/** The files that a call reads. */
function readBy(call: ToolCall): string[] {
  const has = (key: string) => call.arguments?.[key] !== undefined;
  if (isChange(call) || listNames.test(call.name) || SEARCH_ARGUMENTS.some(has) || has("command")) return [];
  return namedFiles(call);
}

function isChange(call: ToolCall): boolean {
  return changeNames.test(call.name) || CHANGE_ARGUMENTS.some((key) => call.arguments?.[key] !== undefined);
}

function namedFiles(call: ToolCall): string[] {
  const args = call.arguments ?? {};
  const lists = PATH_LIST_ARGUMENTS.flatMap((key) =>
    Array.isArray(args[key]) ? (args[key] as unknown[]) : [],
  );
  const edits = Array.isArray(args.edits) ? (args.edits as unknown[]) : [];
  const values = [...PATH_ARGUMENTS.map((key) => args[key]), ...lists, ...edits];
  return values.map(pathOf).filter((path) => path !== undefined);
}

/** The path in an argument: the text itself, or a field of an object in a list. */
function pathOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim() === "" || value.includes("\n") ? undefined : value;
  if (typeof value !== "object" || value === null) return undefined;
  const inner = PATH_ARGUMENTS.map((key) => (value as Record<string, unknown>)[key]).find(
    (path) => typeof path === "string",
  );
  return inner as string | undefined;
}

/** Texts that can contain a patch: an argument of its own, or a command such as `["apply_patch", "…"]`. */
function patchTexts(call: ToolCall): string[] {
  const args = call.arguments ?? {};
  const command = Array.isArray(args.command) ? args.command : [args.command];
  return [...patchKeys.map((key) => args[key]), ...command].filter((text) => typeof text === "string");
}

const envelope = /^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm;
const unified = /^(?:---|\+\+\+) (?:[ab]\/)?([^\t\n]+)/gm;

/** The files that a patch names: the `*** Update File:` form, or a unified diff. */
export function patchedFiles(text: string): string[] {
  if (text.includes("*** Begin Patch") || text.startsWith("*** "))
    return [...text.matchAll(envelope)].map((match) => (match[1] ?? match[2] ?? "").trim());
  if (!/^--- .+\n\+\+\+ /m.test(text)) return [];
  return [...text.matchAll(unified)].map((match) => match[1]!.trim()).filter((file) => file !== "/dev/null");
}

const added = /^\*\*\* Add File: (.+)$/gm;
const unifiedNew = /^--- \/dev\/null\n\+\+\+ (?:b\/)?([^\t\n]+)/gm;

/** The files that a patch creates. */
function addedFiles(text: string): string[] {
  return [...text.matchAll(added), ...text.matchAll(unifiedNew)].map((match) => match[1]!.trim());
}

/**
 * The files that a shell command plainly writes with `>` or `>>`. Skips everything that only a shell can read
 * (variables, quotes, substitutions, bodies of here-documents): a missing file is better than a wrong one.
 */
export function redirectedFiles(command: string): string[] {
  const plain = command.includes("<<") ? (command.split("\n")[0] ?? "") : command;
  // An unclosed quote takes the rest, as in a shell, so the expression never scans a text twice.
  const unquoted = plain.replaceAll(/'[^']*'|"(?:\\[\s\S]|[^"\\])*(?:["\\]|$)/g, "''");
  return [...unquoted.matchAll(/(?:^|[^0-9&>=-])1?>>?\s*([\w./~-]+)/g)]
    .map((match) => match[1]!)
    .filter((file) => !file.startsWith("/dev/") && /[\w]/.test(file));
}

/** The files that a summary lists. */
export interface FileLists {
  /** Sorted; without the modified ones. */
  readFiles: readonly string[];
  /** Sorted. */
  modifiedFiles: readonly string[];
  /** The files that the summary shows: the most recently touched of each list, latest first. */
  recentFiles: readonly string[];
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
  earlierSummaries: ReadonlyArray<Entry | undefined>,
): FileLists {
  const messages = span.map(originalMessage);
  const now = fileOperations(messages);
  const earlier = earlierSummaries.map(listedFiles).reverse();
  const modified = unique([...now.modified, ...earlier.flatMap((each) => each.modified)]);
  const isModified = new Set(modified);
  const read = unique([...calledSkills(messages), ...now.read, ...earlier.flatMap((each) => each.read)])
    .filter((file) => !isModified.has(file))
    .sort(skillsFirst);
  const shownModified = shown(modified, SHOWN_MODIFIED_TOKENS);
  const left = SHOWN_TOKENS - shownModified.reduce((sum, file) => sum + lineTokens(file), 0);
  return {
    readFiles: stored(read),
    modifiedFiles: stored(modified),
    recentFiles: [...shownModified, ...shown(read, left)],
  };
}

/** The files of the skills that the user called, the latest first. */
function calledSkills(messages: readonly Message[]): string[] {
  const calls = messages.flatMap((message) =>
    message.role === "user" ? (skillCallIn(withoutReminders(contentText(message.content)).trim()) ?? []) : [],
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

/** The files that an earlier summary lists, most recently touched first: from its details, else from its text. */
function listedFiles(entry: Entry | undefined): FileOperations {
  const none = { read: [], modified: [] };
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return none;
  if (entry.fromHook && !isOwnDetails(entry.details)) return none;
  const { recentFiles, readFiles, modifiedFiles } = storedDetails(entry);
  if (readFiles === undefined && modifiedFiles === undefined) return inText(entry.summary);
  return { read: latestFirst(readFiles, recentFiles), modified: latestFirst(modifiedFiles, recentFiles) };
}

function latestFirst(files: readonly string[] = [], recent: readonly string[]): string[] {
  const listed = new Set(files);
  return unique([...recent.filter((file) => listed.has(file)), ...files]);
}

/** Reads the lists at the end of a summary's text, for summaries of old versions without lists in their details. */
function inText(summary: unknown): FileOperations {
  const { carried } = readSummary(typeof summary === "string" ? summary : "");
  const listed = (tag: OwnTag) =>
    (carried.get(tag) ?? []).flatMap((line) => (line.trim() === "" || more.test(line) ? [] : [fileIn(line)]));
  return { read: listed("read-files"), modified: listed("modified-files") };
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

const more = /^\(and [\d,]+ more, touched earlier\)$/;

function shownLines(files: readonly string[], recent: ReadonlySet<string>): string[] {
  const lines = files
    .filter((file) => recent.has(file))
    .sort(skillsFirst)
    .map(fileLine);
  const others = files.length - lines.length;
  return others === 0 ? lines : [...lines, `(and ${others} older)`];
}

/** A name on its own line. Quoted as JSON if it would break the line or read as something else. */
export function fileLine(file: string): string {
  const isPlain = file === file.trim() && !/[\p{Cc}\u2028\u2029]/u.test(file) && !/^(?:"|\(and )/.test(file);
  if (isPlain && escapeMarks(file) === file) return file;
  const coded = /[\p{Cc}\u2028\u2029<[#*]|[^\x20-\x7e]/gu;
  return JSON.stringify(file).replaceAll(coded, (character) =>
    Array.from({ length: character.length }, (_, at) => hexEscape(character.charCodeAt(at))).join(""),
  );
}

function hexEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
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
