import { readFileSync } from "node:fs";
import { filesBelow, readExtensions, readPackages, shown } from "./workspace.ts";

/** A comment that opens with one of these words names its subject late or never. */
const OPENING = /^(?:What|Who|Whoever|Whose|Where|Of|So|Nobody|None|Also|That)\b/;
/** Constants of upper case letters that name a bound otherwise than MAX_… or MIN_…. */
const BOUND = /\b(?:[A-Z0-9]+_)*(?:MOST|LEAST)(?:_[A-Z0-9]+)*\b/g;

/** Packages that do not follow the rules yet. */
const EXEMPT: readonly string[] = [];

/** Checks how comments begin and how bounds are named. */
export function checkEnglish(root: string, exempt: readonly string[] = EXEMPT): string[] {
  return [...readPackages(root), ...readExtensions(root)]
    .filter(({ directory }) => !exempt.includes(directory))
    .flatMap(({ folder }) => filesBelow(folder, [".ts", ".tsx"]))
    .filter((file) => !/\/(?:test|bench|dist)\//.test(file))
    .flatMap((file) => checkFile(readFileSync(file, "utf8")).map((error) => `${shown(root, file)}${error}`));
}

function checkFile(source: string): string[] {
  const lines = source.split("\n");
  const comments = lines
    .map((_, at) => ({ line: at + 1, text: openingAt(lines, at) }))
    .filter(({ text }) => OPENING.test(text))
    .map(({ line, text }) => `:${line} has a comment without its subject: ${text}`);
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$|"(?:[^"\\\n]|\\.)*"/gm, "");
  const bounds = [...new Set(code.match(BOUND))].map((name) => ` names ${name}: write MAX_… or MIN_…`);
  return [...comments, ...bounds];
}

/** The first words of a comment that begins on a line. */
function openingAt(lines: readonly string[], at: number): string {
  const [, mark, text = ""] = /(?:^|[;,{(] )\s*(\/\*\*|\/\/)\s*(.*)$/.exec(lines[at]!) ?? [];
  const isContinued = mark === "//" && /^\s*\/\//.test(lines[at - 1] ?? "");
  if (isContinued) return "";
  return mark === "/**" && text === "" ? (lines[at + 1] ?? "").replace(/^[\s*]+/, "") : text;
}
