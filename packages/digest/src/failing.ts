import { partsOf, textOf } from "./command-words.ts";
import { type Command, readCommands } from "./commands.ts";
import { clipped } from "./run-result.ts";

/** A command whose last run failed. */
export interface FailedCommand {
  /** What makes two runs the same command: without directory changes, redirections, filters and time limits. */
  key: string;
  /** The decisive line of its output; empty where there is none. */
  line: string;
  /** Of the failed result. */
  entryId?: string | undefined;
  /** Where it ran, if the command says so. */
  folder?: string | undefined;
  /** Of a chain: the parts that did not pass since. */
  left?: readonly string[] | undefined;
  /** The file that was to be changed, where it was no command. */
  path?: string | undefined;
}

const maxKeyChars = 400;

export function failedCommand(commands: readonly Command[]): Pick<FailedCommand, "key" | "folder" | "left"> {
  const left = [...new Set(commands.map(keyOf))];
  const { folder } = commands.at(-1)!;
  return {
    key: clipped(left.join(" && "), maxKeyChars),
    ...(folder !== undefined && { folder }),
    ...(left.length > 1 && { left }),
  };
}

function keyOf(command: Command): string {
  return clipped(textOf(command), maxKeyChars);
}

/** What is left of a failed command after others passed: itself, less of a chain, or nothing. */
export function afterPass(failed: FailedCommand, passed: readonly Command[]): FailedCommand[] {
  if (failed.path !== undefined) return [failed];
  const near = passed.filter(({ folder }) => isSameFolder(folder, failed.folder));
  const before = failed.left ?? [failed.key];
  const left = before.filter((part) => !near.some((command) => covers(command, part)));
  if (left.length === before.length) return [failed];
  return left.length === 0 ? [] : [{ ...failed, left }];
}

function isSameFolder(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

function covers(passed: Command, part: string): boolean {
  if (keyOf(passed) === part) return true;
  const failed = readCommands(part)[0]?.commands[0];
  if (failed === undefined) return false;
  const [a, b] = [identityOf(passed), identityOf(failed)];
  if (a.join("\n") === b.join("\n")) return true;
  if (passed.kind !== "judge" || failed.kind !== "judge") return false;
  return isBroader(a, b) || (familyOf(a) === familyOf(b) && (runsItsFiles(a, b) || isWholeProject(a, b)));
}

const UNIMPORTANT =
  /^(?:--|run|-[vqs]+|--(?:verbose|quiet|silent|no-colou?r|colou?r|run|bail|workspaces?|all|if-present|reporter|no-cache|force|watch)(?:=.{0,40})?|\.{1,2}\/?|\.\/\.\.\.|\*\*?)$/;

/** What makes two runs the same: neither code that is given as an argument, nor how much is printed. */
function identityOf({ words }: Command): string[] {
  // A commit that passes is the one that failed, whatever its message; a push goes to its branch.
  if (words[0] === "git")
    return words.filter((word) => !word.startsWith("-")).slice(0, words.includes("push") ? 9 : 2);
  return words.filter(
    (word, at) => at === 0 || !(UNIMPORTANT.test(word) || /^(?:-[ce]|--eval)$/.test(words[at - 1]!)),
  );
}

/** Everything that `passed` names is named by `failed` too, which names more. */
function isBroader(passed: readonly string[], failed: readonly string[]): boolean {
  let from = 0;
  return passed.every((word, at) => {
    const place = failed.findIndex((other, index) => index >= from && holds(word, other));
    from = place + 1;
    return at === 0 ? place === 0 : place > 0;
  });
}

/** The same, or a folder or file that it is in. */
function holds(outer: string, inner: string): boolean {
  const folder = outer.replace(/\/(?:\.\.\.|\*\*?)?$/, "");
  return inner === outer || (inner.startsWith(folder) && /^[/:]/.test(inner.slice(folder.length)));
}

const isFile = (word: string): boolean => /[\w)\]]\.[a-z]{1,5}(?:$|:)|::|\//i.test(word);

function runsItsFiles(passed: readonly string[], failed: readonly string[]): boolean {
  const files = failed.slice(1).filter(isFile);
  const isRun = (file: string) => passed.some((word) => holds(word, file) || word.endsWith(`/${file}`));
  return files.length > 0 && files.every(isRun);
}

const SCRIPT_RUNNER = /^(?:npm|pnpm|yarn|bun|nx|turbo)$/;
const TASK_RUNNER = /^(?:make|just|task)$/;
const SCRIPT_TOOL =
  /^(?:npx|bunx|node|tsx|vitest|jest|mocha|ava|tsc|tsgo|eslint|biome|prettier|oxlint|vite|webpack|rollup|esbuild|playwright|cypress|karma)$/;

/** A script of the project that names no target stands above a tool that was run by hand; `npm test` says nothing of Rust. */
function isWholeProject(
  [runner = "", ...passed]: readonly string[],
  [tool = ""]: readonly string[],
): boolean {
  if (passed.length > 2 || passed.some(isFile)) return false;
  if (TASK_RUNNER.test(runner)) return !TASK_RUNNER.test(tool) && !SCRIPT_RUNNER.test(tool);
  return SCRIPT_RUNNER.test(runner) && SCRIPT_TOOL.test(tool);
}

/** Tests say nothing of types, nor the other way round. */
function familyOf(words: readonly string[]): string {
  const parts = words.slice(0, 4).flatMap(partsOf).join(" ");
  if (
    /\b(?:tests?|spec|e2e|vitest|jest|pytest|unittest|mocha|ava|rspec|phpunit|ctest|playwright|cypress)\b/.test(
      parts,
    )
  )
    return "test";
  return /\b(?:lint|eslint|prettier|fmt|format|biome|oxlint|clippy|stylelint|ruff|flake8|rubocop)\b/.test(
    parts,
  )
    ? "lint"
    : "build";
}
