import { isMeasure, termsIn } from "./sentence.ts";

/** The first line that names an error; else the first with a letter or digit. */
export function tellingLine(body: readonly string[]): string {
  const heads = body.slice(0, 2_000).map((line) => line.slice(0, 200).trim());
  const error = heads.find((head) => PLACED_ERROR.test(head) || RAISED_ERROR.test(head));
  return error ?? heads.find((head) => /[\p{L}\p{N}]/u.test(head)) ?? "";
}

/** An error with its location, as compilers and linters print it, or a rejection by git, the linker or the database. */
export const PLACED_ERROR =
  /^! \[|\berror TS\d+|^error\[\w+\]|^[^\s:]{1,200}(?::\d+(?::\d+)?|\(\d+,\d+\)):?\s{1,8}(?:fatal )?error\b|^\d+:\d+\s+error\b|^\[ERROR\] \S{1,200}:\[|undefined reference to|^(?:psql:\S{1,200} )?ERROR: {2}/;
/** A thrown error, or a line that begins with a word for error. */
export const RAISED_ERROR =
  /^\W{0,4}(?:Uncaught )?(?:(?:[\w$]+[.:]{1,2}){0,9}\w*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)(?:\s\[\w+\])?(?:[:!(]|\s\S.{0,120}?:)|^Caused by:|^E {2,}(?:assert|[\w.]+(?:Error|Exception))\b|^thread '.{0,80}' .{0,20}panicked/;

/** A line with only an exit code, at either end of the output: `Command exited with code 1`, `[Exit code 1.]`, `EXIT=1`. */
export const EXIT_LINE =
  /^\W*(?:(?:the )?(?:shell )?(?:command|process|program|script|task) (?:has )?)?(?:failed with )?(?:exit(?:ed)?|return(?:ed)?|rc)(?:[ _-]?(?:with|code|status|value))*\W{1,4}(-?\d{1,3})\W*(?:\/\w+>?)?$/i;

const MENTIONED = /\berrors?\b|\bfail(?:ed|ure|ures|ing)?\b|\bexception\b|\bfatal\b|✗|✖|❌|\bkilled\b/i;
/** A file with a line number. */
const LOCATION = /[\w)\]]\.\w{1,5}(?::\d+|\(\d+,\d+\))/;

/** Shapes of lines that name the error, the most specific first. */
const DECISIVE = [
  PLACED_ERROR,
  RAISED_ERROR,
  /: (?:command )?not found\b|permission denied|\bno such file\b|\bassert(?:ion)?\b.{0,100}\bfail|\bexpected\b.{0,100}\b(?:got|received|actual|but|to)\b|\bgot\b.{0,100}\bwant\b|^[^\s:]{1,200}\.\w{1,5}:\d+(?::\d+)?(?::|\s) ?(?!\s*(?:warning|note|info))/i,
  /\b(?:ECONN[A-Z]+|E[A-Z]{3,}(?=[: ,])|ERR_[A-Z_]+)\b|\b\w{1,80}(?:Error|Exception):/,
  /^(?:--- )?FAIL(?:ED)?\b.|^(?:✗|✖|×|✘|●) |^not ok \d|\b(?:denied|refused|rejected|unauthori[sz]ed|forbidden|timed out|unreachable|not found|cannot|could not|unable to|invalid|missing|conflict)\b/i,
  MENTIONED,
  LOCATION,
];
/** Lines around the error: notes of wrappers, stack frames, progress. */
const NOISE =
  /^(?:npm (?:warn|notice|(?:ERR!|error) (?:code |path |command |A complete |Lifecycle |errno ))|pnpm: |yarn run|error Command failed|ELIFECYCLE|make(?:\[\d+\])?: |at .{1,300}[():]|at \S+:\d+|File "|Debugger |\(node:|\(Use `node|node:internal|\^|>|\d+ ?\||=+ |-{3,}|✓|√|✔|ok\b|PASS\b|(?:\S+ )?(?:INFO|DEBUG|TRACE|WARN(?:ING)?)\b|warning\b|\[?(?:exit code|command exited)|error: (?:aborting due to|could not compile|test failed, to rerun|linker command failed)|To see|FAILURE: Build failed|For more|Some errors have|Traceback |w: )|[{;]$|^[\w.$]{1,60}\(.{0,300}\)$|\bPASS(?:ED)?$|\bld returned \d|\b0 (?:errors?|failed|failures)\b/i;

/**
 * The line of a program's output that names its error, by its shape, with the place in the next lines, and after the
 * name of the failing test; else the last specific line, if `hasExitCode`.
 */
export function decisiveLine(
  lines: readonly string[],
  { command, hasExitCode }: { command: string; hasExitCode: boolean },
): string | undefined {
  const all = lines.filter((line) => !NOISE.test(line) && !EXIT_LINE.test(line));
  const naming = all.filter((line) => !isCount(line));
  const telling = naming.some((line) => DECISIVE.some((shape) => shape.test(line))) ? naming : all;
  const test = failedTest(lines);
  const named = (line: string) =>
    test === undefined || FAILED_TEST.test(line) || `${command} ${line}`.includes(test)
      ? line
      : `${test}: ${line}`;
  for (const shape of DECISIVE) {
    const fits = (line: string) => shape.test(line);
    // A compiler's first error causes the later ones. The last thrown error is the outcome of the earlier ones.
    const isLast = shape === RAISED_ERROR || shape === MENTIONED;
    const at = isLast ? telling.findLastIndex(fits) : telling.findIndex(fits);
    if (at >= 0) return named(`${telling[at]} ${nextLine(telling, at)}`);
  }
  return hasExitCode ? (all.findLast((line) => namesIn(line).length > 0) ?? all.at(-1)) : undefined;
}

/** The first failing test, as test runners print it. */
export function failedTest(lines: readonly string[]): string | undefined {
  for (const line of lines) {
    const name = FAILED_TEST.exec(line)
      ?.slice(1)
      .find((group) => group !== undefined);
    if (name !== undefined && namesIn(name).length > 0) return name;
  }
  return undefined;
}

/** `--- FAIL: TestA`, `FAILED a.py::test_b`, `test a::b ... FAILED`, `ATest > b FAILED`, `1) ATest::b`, `Failed A.B [42 ms]`. */
const FAILED_TEST =
  /^(?:--- )?(?:FAIL(?:ED)?|ERROR):? (\S{3,80})|^(?:test )?(\S.{1,78}?)(?: \.\.\.)? FAILED$|^(?:✗|✖|×|✘|●|not ok \d+|\d+\)) (\S{3,80})|^\S{1,20} (\S{3,80}) \[[<\d., ]{1,9}m?s\]$/;

/** The next line, if a line ends in a colon and so announces it, or if only the next lines name the place. */
function nextLine(lines: readonly string[], at: number): string {
  if (lines[at]!.endsWith(":")) return lines[at + 1] ?? "";
  if (LOCATION.test(lines[at]!)) return "";
  return (
    lines.slice(at + 1, at + 3).find((line) => LOCATION.test(line) && !/error|exception/i.test(line)) ?? ""
  );
}

/** True for a line that only counts: `Found 1 error`, `2 problems`. */
function isCount(line: string): boolean {
  return line.length < 100 && /\d/.test(line) && namesIn(line).length === 0 && line.split(" ").length < 9;
}

function namesIn(line: string): string[] {
  return [...termsIn(line)].filter((term) => !isMeasure(term));
}
