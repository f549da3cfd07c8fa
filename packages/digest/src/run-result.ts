import { contentText, isRecord, withoutTerminalControls } from "@bonsai-agent/messages";

/** What a command or a tool came back with. */
export interface RunResult {
  /** "failed": by its exit code, or, where it has none, by what it says. */
  state: "passed" | "failed" | "aborted";
  /** False where nothing shows that the command ran at all: it was refused, or the tool broke. */
  hasExitCode: boolean;
  lines: readonly string[];
  /** The one that says what went wrong. */
  line: () => string | undefined;
}

/** The last lines of a long output decide; the first may name what was wrong. */
const maxLines = { first: 500, last: 3_000 };
const maxLineChars = 400;

export function resultOf(result: { content?: unknown; details?: unknown; isError?: unknown }): RunResult {
  const lines = linesOf(contentText(result.content));
  const details = isRecord(result.details) ? result.details : {};
  const code = exitCodeIn(details) ?? exitCodeSaid(lines);
  const isAborted =
    details.end === "abort" || details.aborted === true || lines.slice(-3).some((line) => ABORTED.test(line));
  const isFailed = result.isError === true || (code !== undefined && code !== 0);
  return {
    state: isAborted && code === undefined ? "aborted" : isFailed ? "failed" : "passed",
    hasExitCode: code !== undefined,
    lines,
    line: once(lines, code !== undefined),
  };
}

/** Of a command that the user ran by hand. */
export function userResult(message: {
  output?: unknown;
  exitCode?: unknown;
  cancelled?: unknown;
}): RunResult {
  const code = typeof message.exitCode === "number" ? message.exitCode : undefined;
  const state =
    message.cancelled === true ? "aborted" : code !== undefined && code !== 0 ? "failed" : "passed";
  const lines = linesOf(contentText(message.output));
  return { state, hasExitCode: code !== undefined, lines, line: once(lines, code !== undefined) };
}

function once(lines: readonly string[], hasExitCode: boolean): () => string | undefined {
  let found: { line: string | undefined } | undefined;
  return () => {
    found ??= { line: decisiveLine(lines, hasExitCode) };
    return found.line;
  };
}

function linesOf(text: string): string[] {
  const all = text.split("\n");
  const chosen =
    all.length > maxLines.first + maxLines.last
      ? [...all.slice(0, maxLines.first), ...all.slice(-maxLines.last)]
      : all;
  return chosen
    .map((line) => withoutTerminalControls(line.slice(0, maxLineChars)).replace(/^[\s│╷╵┃]+|\s+$/gu, ""))
    .filter((line) => line !== "");
}

function exitCodeIn(details: Record<string, unknown>): number | undefined {
  const metadata = isRecord(details.metadata) ? details.metadata : {};
  return [
    details.exitCode,
    details.exit_code,
    details.exitcode,
    details.returncode,
    metadata.exit_code,
    metadata.exitCode,
    metadata.exit,
  ].find((code) => typeof code === "number") as number | undefined;
}

/** A line that says nothing else, at either end of the output: `Command exited with code 1`, `[Exit code 1.]`, `EXIT=1`. */
const EXIT_LINE =
  /^\W*(?:(?:the )?(?:shell )?(?:command|process|program|script|task) (?:has )?)?(?:failed with )?(?:exit(?:ed)?|return(?:ed)?|rc)(?:[ _-]?(?:with|code|status|value))*\W{1,4}(-?\d{1,3})\W*(?:\/\w+>?)?$/i;

function exitCodeSaid(lines: readonly string[]): number | undefined {
  for (const line of [...lines.slice(-3).reverse(), ...lines.slice(0, 3)]) {
    const code =
      (line.length < 80 ? EXIT_LINE.exec(line) : null) ??
      /"exit_?code"\s{0,3}:\s{0,3}(-?\d{1,3})\b/i.exec(line);
    if (code !== null) return Number(code[1]);
  }
  return undefined;
}

const ABORTED =
  /^\W*(?:command aborted|operation aborted|stopped by the user|aborted by (?:the )?user|request interrupted|interrupted by user|\(cancelled\)|cancelled|aborted)\b/i;

/** `3 failed`, `Failures: 1`, `failures=2`. */
const COUNTS_FAILED =
  /\b[1-9]\d* (?:(?:tests?|specs?|examples?|suites?) )?(?:failed|failing|failures?|errors?|problems)\b|\b(?:fail(?:ed|ures?|ing)?|errors?)["']?(?:: |=| )[1-9]\d*\b/i;
const COUNTS_PASSED =
  /\b[1-9]\d* (?:(?:tests?|specs?|examples?) )?pass(?:ed|ing)?\b|\bpass(?:ed)?(?:: | )[1-9]|\btest result: ok|^OK\b|^ok\s|\b(?:0|no) (?:errors?|problems|failures|failed|issues)\b|\bBUILD SUCCESS/i;
const SAYS_FAILED =
  /^(?:error|fatal|panic|fehler|erreur)(?:\[\w+\])?: |\berror TS\d+|^npm (?:ERR!|error)|\bELIFECYCLE\b|^(?:---? )?FAIL(?:ED)?\b|^(?:✗|✖|×) |^not ok \d|^Traceback |^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)(?: \[\w+\])?: |\bBUILD FAIL|\bSegmentation fault|: command not found|^! \[\w+ ?\w*\]|^make(?:\[\d+\])?: \*\*\*|^[^\s:]{1,200}:\d+(?::\d+)?:? (?:fatal )?error\b/;

/** True where the output of a command whose exit code is not known plainly says that it failed: its summary, else its lines. */
export function saysFailed(lines: readonly string[]): boolean {
  const end = lines.slice(-30);
  if (end.some((line) => COUNTS_FAILED.test(line) && !/\b0 (?:failed|failures?|errors?)\b/i.test(line)))
    return true;
  if (end.some((line) => COUNTS_PASSED.test(line))) return false;
  return lines.some((line) => SAYS_FAILED.test(line));
}

/** Shapes of lines that say what went wrong, the sharpest first. */
const DECISIVE: readonly RegExp[] = [
  /\berror TS\d+|^error\[\w+\]|^[^\s:]{1,200}(?::\d+(?::\d+)?|\(\d+,\d+\)):? (?:fatal )?error\b|^\W{0,4}(?:[\w.]+\.)?[A-Z]?\w*(?:Error|Exception)(?: \[\w+\])?(?::| in )|\bpanicked at\b|^panic:|^\d+:\d+\s+error\b|^Caused by:|^E {2,}\S/,
  /\b[A-Z]\w+(?:Error|Exception)\b|\bE[A-Z]{4,}\b|\bERR_\w+|^ERROR\b/,
  /^(?:error|fatal|err|failure|failed|exception)\b[^\w]{0,3}[:!]|^! \[|: (?:command )?not found\b|permission denied|\bno such file\b|^ERROR\b|\bassert(?:ion)?\b.{0,100}\bfail|\bexpected\b.{0,100}\b(?:got|received|actual|but|to)\b|\bgot\b.{0,100}\bwant\b|^[^\s:]{1,200}\.\w{1,5}:\d+(?::\d+)?: (?!warning|note|info)/i,
  /^(?:--- )?FAIL\b.|^(?:✗|✖|×|✘|●) |^not ok \d|\b(?:denied|refused|rejected|unauthori[sz]ed|forbidden|timed out|unreachable|undefined reference|cannot|could not|unable to|invalid|missing|conflict)\b/i,
  /\berrors?\b|\bfail(?:ed|ure|ures|ing)?\b|\bexception\b|\bfatal\b|✗|✖|❌|\bkilled\b/i,
];
/** Stands around the error and is not it: wrappers' notes, stack frames, progress. */
const NOISE =
  /^(?:npm (?:ERR!|error|warn|notice)|pnpm: |yarn run|error Command failed|\s*ELIFECYCLE|make(?:\[\d+\])?: |at .{1,300}[():]|at \S+:\d+|File "|Waiting for the debugger|Debugger |\(node:|\(Use `node|node:internal|\^|>|\d+ ?\||=+ |-{3,}|✓|√|✔|ok\b|PASS\b|(?:\S+ )?(?:INFO|DEBUG|TRACE|WARN(?:ING)?)\b|warning\b|\[?(?:exit code|command (?:exited|timed))|error: (?:aborting due to|could not compile|test failed, to rerun)|To see|FAILURE: Build failed|For more|Some errors have|Traceback )|\b0 (?:errors?|failed|failures)\b/i;

/**
 * The line that says what went wrong, by the shape of such lines; undefined where there is none. A short output of a command
 * that failed by its exit code is its message, whatever it says.
 */
function decisiveLine(lines: readonly string[], hasExitCode: boolean): string | undefined {
  const telling = lines.filter((line) => !NOISE.test(line));
  // What ends in a colon announces the line that tells.
  for (const candidates of [telling.filter((line) => !line.endsWith(":")), telling]) {
    const line = DECISIVE.map((shape) => candidates.find((candidate) => shape.test(candidate))).find(
      isString,
    );
    if (line !== undefined) return clipped(line, 240);
  }
  const said = lines.filter((line) => !EXIT_LINE.test(line));
  const noisy = said.find((line) =>
    /^npm (?:ERR!|error) (?!code |path |command |A complete )|^error Command|^make/i.test(line),
  );
  if (said.length > 3 || !hasExitCode) return noisy === undefined ? undefined : clipped(noisy, 240);
  const last = telling.findLast((line) => !EXIT_LINE.test(line)) ?? noisy;
  return last === undefined ? undefined : clipped(last, 240);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** On one line, at most `chars` long, never cut within a character. */
export function clipped(text: string, chars: number): string {
  const line = text
    .slice(0, chars * 8)
    .replace(/[\r\n]+\s*/g, " ")
    .trim();
  if (line.length <= chars) return line;
  return `${line.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
