import { count as digits, type LinePart } from "./screen-text.ts";
import { isRecord, shortened, textHead } from "./text.ts";

/** Names of arguments that are a path, a list of paths, or a search, and of arguments that change a file. */
export const CALL_ARGUMENTS = {
  path: [
    ..."path file_path filePath filepath file filename fileName notebook_path".split(" "),
    ..."target_file targetFile absolute_path absolutePath relative_path relativePath".split(" "),
  ],
  pathList: ["paths", "files", "file_paths", "filePaths"],
  search: ["pattern", "query", "regex", "glob", "include"],
  change: [
    ..."content contents file_text fileText replacement insert_text edits patch diff code_edit".split(" "),
    ..."old_string oldString old_str oldText new_string newString new_str newText new_source".split(" "),
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;
const COMMAND_ARGUMENTS: readonly string[] = ["command", "cmd", "script"];
const FOLDER_ARGUMENTS: readonly string[] = ["dir", "directory", "folder"];
const FIRST_LINE_ARGUMENTS = ["offset", "start_line", "startLine", "line_start", "fromLine"];
const LAST_LINE_ARGUMENTS = ["end_line", "endLine", "line_end", "toLine"];

/** Maximum characters of an argument that are read. */
const MAX_TEXT = 480;
/** Maximum characters of each further argument. A longer one is shortened, or counted in lines. */
const MAX_REST_TEXT = 60;

/**
 * A call on one line: its command, search or path first, then the other arguments by name. Decides by the shape of the
 * arguments, as tools have any name. Damaged arguments are left out.
 */
export function callParts(name: unknown, args: unknown): LinePart[] {
  const said = saidOf(isRecord(args) ? args : {});
  const first = typeof name === "string" ? name : "?";
  return said.length === 0 ? [{ text: first }] : [{ text: `${first} ` }, ...said];
}

type Arguments = Readonly<Record<string, unknown>>;

function saidOf(args: Arguments): LinePart[] {
  const main = mainOf(args);
  const rest = Object.entries(args).flatMap(([key, value]) =>
    main.keys.includes(key) ? [] : restTexts(key, value),
  );
  const begin = main.parts.length === 0 ? "" : " · ";
  return [...main.parts, ...rest.map((text, at) => ({ text: `${at === 0 ? begin : " · "}${text}` }))];
}

/** The main part of a call, and the arguments in it. */
interface Main {
  parts: LinePart[];
  keys: readonly string[];
}

function mainOf(args: Arguments): Main {
  const command = keyIn(args, COMMAND_ARGUMENTS);
  if (command !== undefined) return { parts: [{ text: wordsOf(args[command]) }], keys: [command] };
  const search = keyIn(args, CALL_ARGUMENTS.search);
  const path = pathIn(args);
  if (search !== undefined) {
    const place = path === undefined ? [] : [{ text: " in " }, ...path.parts];
    return { parts: [{ text: wordsOf(args[search]) }, ...place], keys: [search, ...(path?.keys ?? [])] };
  }
  if (path !== undefined) return withLines(path, args);
  return phraseIn(args);
}

function keyIn(args: Arguments, keys: readonly string[]): string | undefined {
  return keys.find((key) => wordsOf(args[key]) !== "");
}

function pathIn(args: Arguments): Main | undefined {
  const key =
    keyIn(args, [...CALL_ARGUMENTS.path, ...FOLDER_ARGUMENTS]) ??
    Object.keys(args).find((each) => looksLikePath(args[each]));
  if (key !== undefined) return { parts: [{ text: wordsOf(args[key]), isPath: true }], keys: [key] };
  const listKey = CALL_ARGUMENTS.pathList.find((each) => pathsIn(args[each]).length > 0);
  if (listKey === undefined) return undefined;
  const parts = pathsIn(args[listKey]).flatMap((path, at): LinePart[] => {
    const part = { text: path, isPath: true };
    return at === 0 ? [part] : [{ text: ", " }, part];
  });
  return { parts, keys: [listKey] };
}

/** True for a value that is almost certainly a path. */
function looksLikePath(value: unknown): boolean {
  if (typeof value !== "string" || value.length > MAX_TEXT || /\s|:\/\//.test(value)) return false;
  return /^(?:\.{0,2}|~)\/[^/]|^[A-Za-z]:\\/.test(value) || /\/[^/]*[^/.]\.\w{1,8}$/.test(value);
}

function pathsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.slice(0, 20).flatMap((each) => wordsOf(each) || []) : [];
}

/** `path:10-40`. Leaves out changed texts, which are shown as a difference elsewhere. */
function withLines({ parts, keys }: Main, args: Arguments): Main {
  const lines = linesIn(args);
  const [head, ...others] = parts;
  // A folder has no lines: require a first line or the name of a file.
  const isOfFile = lines?.isExact === true || /[^/]\.\w+$/.test(head?.text ?? "");
  if (head === undefined || lines === undefined || !isOfFile)
    return { parts, keys: [...keys, ...CALL_ARGUMENTS.change] };
  return {
    parts: [{ text: `${head.text}:${lines.text}`, isPath: true }, ...others],
    keys: [...keys, ...lines.keys, ...CALL_ARGUMENTS.change],
  };
}

function linesIn(args: Arguments): { text: string; isExact: boolean; keys: string[] } | undefined {
  const { view_range: range } = args;
  if (Array.isArray(range) && range.length === 2 && range.every(Number.isInteger))
    return { text: rangeText(range[0], range[1]), isExact: true, keys: ["view_range"] };
  const from = numberAt(args, FIRST_LINE_ARGUMENTS);
  const last = numberAt(args, LAST_LINE_ARGUMENTS);
  const count = numberAt(args, ["limit"]);
  if (from === undefined && last === undefined && count === undefined) return undefined;
  const to = last ?? (count === undefined ? undefined : (from ?? 1) + count - 1);
  const keys = [...FIRST_LINE_ARGUMENTS, ...LAST_LINE_ARGUMENTS, "limit"];
  return { text: rangeText(from ?? 1, to), isExact: from !== undefined || last !== undefined, keys };
}

/** `10-40`; `10-` for a read to the end. */
function rangeText(from: number, to: number | undefined): string {
  return `${from}-${to === undefined || to < 0 ? "" : to}`;
}

function numberAt(args: Arguments, keys: readonly string[]): number | undefined {
  return keys.map((key) => args[key]).find((value): value is number => Number.isInteger(value));
}

/** A phrase, or the only argument. A word among other arguments needs its name. */
function phraseIn(args: Arguments): Main {
  const entries = Object.entries(args).filter(
    ([, value]) => typeof value === "string" && value.trim() !== "",
  );
  const isPhrase = ([, value]: [string, unknown]) => /\S\s+\S|:\/\//.test(String(value).slice(0, MAX_TEXT));
  const isLine = ([, value]: [string, unknown]) => !String(value).slice(0, MAX_TEXT).trim().includes("\n");
  const phrases = entries.filter(isPhrase);
  const only = Object.keys(args).length === 1 ? entries[0] : undefined;
  const [key, value] = phrases.find(isLine) ?? phrases[0] ?? only ?? [];
  return key === undefined ? { parts: [], keys: [] } : { parts: [{ text: wordsOf(value) }], keys: [key] };
}

/** A text on one line; a command can be a list of its words. Empty for anything else. */
function wordsOf(value: unknown): string {
  if (Array.isArray(value)) {
    const words = value.slice(0, 200).filter((word) => typeof word === "string");
    return words.length === 0 ? "" : wordsOf(words.join(" "));
  }
  if (typeof value !== "string") return "";
  const head = textHead(value, MAX_TEXT * 2).trim();
  return textHead(head.replaceAll(/\s+/g, " "), MAX_TEXT);
}

/** A further argument in a few words. Nothing for false and null. */
function restTexts(key: string, value: unknown, depth = 0): string[] {
  if (value === true) return [key];
  if (typeof value === "number") return [`${key} ${value}`];
  if (typeof value === "string") return restText(key, value);
  if (Array.isArray(value)) return listTexts(key, value);
  if (!isRecord(value)) return [];
  if (depth > 0) return [key];
  return Object.entries(value)
    .slice(0, 20)
    .flatMap(([inner, each]) => restTexts(`${key}.${inner}`, each, depth + 1));
}

function restText(key: string, text: string): string[] {
  const lines = text.trim().split("\n", 1_000).length;
  if (lines > 1) return [`${key} ${digits(lines)}${lines === 1_000 ? "+" : ""} lines`];
  const words = wordsOf(text);
  if (words === "") return [];
  return [`${key} ${shortened(words, MAX_REST_TEXT)}`];
}

function listTexts(key: string, list: readonly unknown[]): string[] {
  if (list.length === 0) return [];
  const words = list
    .slice(0, 20)
    .flatMap((each) => (typeof each === "number" ? String(each) : wordsOf(each) || []));
  const text = words.join(", ");
  const isWhole = words.length === list.length && text.length <= MAX_REST_TEXT;
  return [`${key} ${isWhole ? text : digits(list.length)}`];
}
