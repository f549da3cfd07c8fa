import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comment, parseSync } from "oxc-parser";
import { type Findings, filesBelow, readPackages, shown } from "./workspace.ts";

/** Largest share of a package's comments that may open with a word of OPENING. */
const MAX_SHARE = 0.02;
/** A comment that opens with one of these words names its subject late or never. */
const OPENING = /^(?:What|Who|Whoever|Whose|Where|Of|So|Nobody|None|Also|That)$/i;
/** Bounds are named MAX_… and MIN_…. */
const BOUND = /(?:^|_)(?:MOST|LEAST)(?:_|$)/;

/** Packages that do not follow the rules yet. A row that is not needed is an error. The extensions count as one package. */
const EXEMPT: readonly string[] = ["cli"];

/** Checks how comments begin and how bounds are named. */
export function checkEnglish(root: string, exempt: readonly string[] = EXEMPT): Findings {
  const sources = sourceFiles(root);
  const errors = [...sources].flatMap(([name, files]) => {
    const found = checkSources(root, name, files);
    if (!exempt.includes(name)) return found;
    return found.length > 0 ? [] : [`EXEMPT in english.ts names ${name}, which follows the rules: remove it`];
  });
  const gone = exempt.filter((name) => !sources.has(name));
  return {
    errors: [...errors, ...gone.map((name) => `EXEMPT in english.ts names ${name}, which does not exist`)],
    warnings: [],
  };
}

/** The source files of each package, and of all extensions together. */
function sourceFiles(root: string): Map<string, string[]> {
  const packages = readPackages(root).map(({ directory, folder }): [string, string[]] => [
    directory,
    ["src", "browser"].flatMap((part) => filesBelow(join(folder, part), [".ts", ".tsx"])),
  ]);
  const modules = filesBelow(join(root, "extensions"), [".ts"]).filter((file) => !file.includes("/test/"));
  return new Map(modules.length === 0 ? packages : [...packages, ["extensions", modules]]);
}

function checkSources(root: string, name: string, paths: readonly string[]): string[] {
  const files = paths.map((path) => ({ place: shown(root, path), ...read(path) }));
  const bounds = files.flatMap(({ place, bounds }) =>
    bounds.map((bound) => `${place} names ${bound}: write MAX_… or MIN_…`),
  );
  const comments = files.flatMap(({ place, comments }) => comments.map((comment) => ({ place, ...comment })));
  const [first, ...more] = comments.filter(({ firstWord }) => OPENING.test(firstWord));
  if (first === undefined || more.length + 1 <= comments.length * MAX_SHARE) return bounds;
  return [
    `${more.length + 1} of ${comments.length} comments in ${name} open with What, Who, Where, Of, So, That or the like; at most 2% may. The first: ${first.place}:${first.line}: ${first.text}`,
    ...bounds,
  ];
}

interface ReadComment {
  firstWord: string;
  text: string;
  line: number;
}

function read(file: string): { comments: ReadComment[]; bounds: string[] } {
  const source = readFileSync(file, "utf8");
  const { comments } = parseSync(file, source);
  const code = [...comments]
    .reverse()
    .reduce((rest, { start, end }) => `${rest.slice(0, start)} ${rest.slice(end)}`, source)
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '""');
  const bounds = [...new Set(code.match(/\b[A-Z][A-Z0-9_]*\b/g) ?? [])].filter((name) => BOUND.test(name));
  return { comments: grouped(comments, source), bounds };
}

/** Adjacent line comments are one comment. */
function grouped(comments: readonly Comment[], source: string): ReadComment[] {
  const isContinued = ({ type, start }: Comment, before: Comment | undefined) =>
    type === "Line" && before?.type === "Line" && /^\s*$/.test(source.slice(before.end, start));
  return comments
    .filter((comment, at) => !isContinued(comment, comments[at - 1]))
    .map(({ value, start }) => {
      const text = value.replaceAll(/\s*\n?[\s*]+/g, " ").trim();
      const firstWord = /[\p{L}\p{N}'’-]+/u.exec(text)?.[0] ?? "";
      return { firstWord, text: text.slice(0, 80), line: source.slice(0, start).split("\n").length };
    });
}
