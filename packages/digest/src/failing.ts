import { type Command, partsOf, readCommands } from "./commands.ts";
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
  /** True where it is no command but a tool that was to change a file. */
  isChange?: true | undefined;
  /** The parts of a chain that did not pass since, where it has several. */
  left?: readonly string[] | undefined;
}

const maxKeyChars = 400;

/** What a failed command needs until it passes: the key of each of its parts. */
export function partsOfKey(commands: readonly Command[]): string[] {
  return [...new Set(commands.map(keyOf))];
}

export function keyOf(command: Command): string {
  return clipped(command.text, maxKeyChars);
}

/** A failed command after `passed` went well in `folder`; undefined where nothing of it is left. */
export function afterPass(failed: FailedCommand, passed: readonly Command[]): FailedCommand | undefined {
  const left = (failed.left ?? [failed.key]).filter(
    (part) => !passed.some((command) => covers(command, part, failed.folder)),
  );
  if (left.length === 0) return undefined;
  return left.length === (failed.left ?? [failed.key]).length ? failed : { ...failed, left };
}

function covers(passed: Command, part: string, folder: string | undefined): boolean {
  if (!isSameFolder(passed.folder, folder)) return false;
  if (keyOf(passed) === part) return true;
  const failed = readCommands(part)[0]?.commands[0];
  if (failed === undefined) return false;
  const [a, b] = [identityOf(passed), identityOf(failed)];
  if (a.every((word, at) => word === b[at]) && a.length === b.length) return true;
  if (passed.kind !== "judge" || failed.kind !== "judge") return false;
  return (
    isBroader(a, b) ||
    (familyOf(passed) === familyOf(failed) && (runsTheSameFiles(a, b) || isWholeProject(a, b)))
  );
}

function isSameFolder(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

/** What makes two runs the same: code and messages that are given as arguments, and how much is printed, do not. */
function identityOf({ words, quoted }: Command): string[] {
  const program = words[0]!;
  if (/^git$/.test(program)) return gitIdentity(words);
  const own: string[] = [program];
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!;
    if (quoted[at] === true && /^-[ce]$|^--(?:eval|command)$/.test(words[at - 1]!)) continue;
    if (isUnimportant(word)) continue;
    own.push(word);
  }
  return own;
}

/** A commit that passes is the commit that failed, whatever its message; a push goes to its branch. */
function gitIdentity(words: readonly string[]): string[] {
  const own = words.slice(1).filter((word) => !word.startsWith("-"));
  return own[0] === "push" ? ["git", ...own] : ["git", own[0] ?? ""];
}

function isUnimportant(word: string): boolean {
  return /^(?:--|-v+|-q|-s|--(?:verbose|quiet|silent|no-colou?r|colou?r|run|bail|workspaces?|all|if-present|reporter|no-cache|force|watch)(?:=.{0,40})?|\.{1,2}\/?|\.\/\.\.\.|\*\*?)$/.test(
    word,
  );
}

/** Everything that `passed` names is named by `failed` too, which names more. */
function isBroader(passed: readonly string[], failed: readonly string[]): boolean {
  if (passed[0] !== failed[0] || passed.length > failed.length) return false;
  let from = 0;
  return passed.every((word) => {
    const at = failed.findIndex((other, place) => place >= from && holds(word, other));
    from = at + 1;
    return at >= 0;
  });
}

function holds(outer: string, inner: string): boolean {
  if (inner === outer) return true;
  const folder = outer.replace(/\/(?:\.\.\.|\*\*?)?$/, "");
  return inner.startsWith(folder) && /^(?:\/|::|:\d)/.test(inner.slice(folder.length));
}

const isFile = (word: string): boolean => /[\w)\]]\.[a-z]{1,5}(?:$|:)|::/i.test(word) || word.includes("/");

function runsTheSameFiles(passed: readonly string[], failed: readonly string[]): boolean {
  const files = failed.slice(1).filter(isFile);
  return (
    files.length > 0 &&
    files.every((file) =>
      passed
        .slice(1)
        .some((other) => holds(other, file) || file.endsWith(`/${other}`) || other.endsWith(`/${file}`)),
    )
  );
}

const PROJECT_RUNNER = /^(?:npm|pnpm|yarn|bun|make|just|task|nx|turbo)$/;

/** A script of the project that names no target stands above a tool that was run by hand. */
function isWholeProject(passed: readonly string[], failed: readonly string[]): boolean {
  return (
    PROJECT_RUNNER.test(passed[0]!) &&
    !PROJECT_RUNNER.test(failed[0]!) &&
    passed.length <= 3 &&
    !passed.slice(1).some(isFile)
  );
}

/** Tests say nothing of types, nor the other way round. */
function familyOf({ words }: Command): string {
  const parts = words.slice(0, 4).flatMap((word) => partsOf(word));
  if (
    parts.some((part) =>
      /^(?:tests?|spec|e2e|vitest|jest|pytest|unittest|mocha|ava|rspec|phpunit|ctest|playwright|cypress)$/.test(
        part,
      ),
    )
  )
    return "test";
  if (
    parts.some((part) =>
      /^(?:lint|eslint|prettier|fmt|format|biome|oxlint|clippy|stylelint|ruff|flake8|rubocop)$/.test(part),
    )
  )
    return "lint";
  return "build";
}
