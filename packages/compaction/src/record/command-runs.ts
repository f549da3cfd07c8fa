import { contentText, isRecord, shortened, textHead } from "@bonsai-agent/messages";
import { CallPairs, withoutTerminalControls } from "@bonsai-agent/messages/host";
import { type Command, type CommandGroup, readCommands } from "./commands.ts";
import { isIrreversible } from "./irreversible.ts";
import type { SourceMessage } from "./statements.ts";

/** A finished shell command that a tool or the user ran. */
export interface CommandRun {
  /** On one line, without a leading `cd`, at most 400 characters long. */
  command: string;
  /** The folder in which the command ran, if a `cd` in it names one. */
  folder?: string | undefined;
  state: RunResult["state"];
  /** True if the command only looked or moved files. */
  isLookup: boolean;
  /** The decisive line of a failure, if there is one. */
  line?: string | undefined;
  /** The entry of its result. */
  entryId?: string | undefined;
}

const MAX_COMMAND_CHARS = 400;
/** `cd packages/tui && ` */
const FOLDER_CHANGE = /^\s{0,9}cd\s{1,9}(?:"[^"\n]*"|'[^'\n]*'|[^\s;&|]+)\s{0,9}(?:&&|;)\s{0,9}(?=\S)/;

/** The commands that tools and the user ran, in order. Skips calls without a result among the messages. */
export function commandRuns(messages: readonly SourceMessage[]): CommandRun[] {
  const calls = new CallPairs();
  return messages.flatMap(({ message, entryId }) => {
    const call = calls.add(message)?.call;
    const isByHand = message?.role === "bashExecution";
    const written = isByHand ? message.command : call && commandIn(call.arguments);
    return typeof written === "string" ? [commandRun(written, resultOf({ ...message }), entryId)] : [];
  });
}

function commandRun(written: string, result: RunResult, entryId: string | undefined): CommandRun {
  const groups = readCommands(written);
  const isFailed = groupStates(groups, result).some(([, state]) => state === "failed");
  const state = result.state === "aborted" ? "aborted" : isFailed ? "failed" : result.state;
  const line = state === "failed" ? decisiveLine(result) : undefined;
  const isLookup = !groups.some(({ commands }) => commands.some(counts));
  const command = clipped(written.replace(FOLDER_CHANGE, ""), MAX_COMMAND_CHARS);
  const folder = groups.at(-1)?.commands.at(-1)?.folder;
  const where = folder === undefined ? {} : { folder };
  return { command, ...where, state, isLookup, ...(line !== undefined && { line }), entryId };
}

/** The shell command in a call's arguments. Only the arguments decide: each agent names its tools differently. */
export function commandIn(fields: Readonly<Record<string, unknown>>): string | undefined {
  // Some edit tools have a `path`, and a `command` that names the edit.
  if ("path" in fields) return undefined;
  const values = ["command", "cmd", "script", "shell_command", "CommandLine"].map((field) => fields[field]);
  const value = values.find((one) => typeof one === "string" || Array.isArray(one));
  if (!Array.isArray(value)) return value as string | undefined;
  return /(?:^|\/)(?:ba|z)?sh$/.test(String(value[0])) ? String(value.at(-1)) : value.join(" ");
}

/** False for a lookup, unless it is irreversible. */
export const counts = (command: Command): boolean => !command.isLookup || isIrreversible(command);
const checks = ({ commands }: CommandGroup<Command>): boolean => commands.some(({ isCheck }) => isCheck);

/** A search for error messages: if it finds none, that is a success. */
const SEEKS_ERRORS = /grep.*(?:err|fail|warn|fatal|TS\d)/i;

/** The state of each group; undefined if unknown, because the result has only the exit code of the last group. */
export function groupStates(
  all: readonly CommandGroup<Command>[],
  result: RunResult,
): Array<[CommandGroup<Command>, RunResult["state"] | undefined]> {
  // `cargo test; echo $?` prints the exit code of the group before it.
  const groups = all.filter(({ commands: [first] }) => !/^echo .*\$\?/.test(first?.text.slice(0, 200) ?? ""));
  const last = groups.at(-1);
  // A lookup at the end of a pipe, or a fallback, replaces the exit code of the command that matters.
  const isSeen =
    last?.hasFallback === false && !last.commands.some(({ isPiped, isLookup }) => isPiped && isLookup);
  const isLastToBlame = isSeen && result.state === "failed" && last.commands.some(counts);
  const isBad = !isLastToBlame && saysFailed(result.lines);
  const hasCheck = groups.some(checks);
  return groups.map((group) => {
    if (group === last && isSeen) return [group, result.state];
    if (isLastToBlame) return [group, undefined];
    if (isBad && checks(group) === hasCheck) return [group, "failed"];
    const search = group.commands.find(({ isPiped, text }) => isPiped && /^(?:[ef]?grep|rg|wc)\b/.test(text));
    if (search === undefined) return [group, group === last ? result.state : "passed"];
    return [group, SEEKS_ERRORS.test(search.text) ? "passed" : undefined];
  });
}

/** The output of a command or tool, and how it ended. */
export interface RunResult {
  state: "passed" | "failed" | "aborted";
  /** False if nothing shows that the command ran: it was refused, or the tool broke. */
  hasExitCode: boolean;
  lines: readonly string[];
}

/** Only the last lines of a longer output are read. */
const MAX_LINES = 3_500;
const MAX_LINE_CHARS = 400;

/** Reads the result of a tool, or of a command that the user ran by hand. */
export function resultOf(message: Record<string, unknown>): RunResult {
  const lines = linesOf(contentText(message.content ?? message.output));
  const details = isRecord(message.details) ? message.details : {};
  const code =
    exitCodeIn(message) ?? exitCodeIn(details) ?? exitCodeIn(details.metadata) ?? exitCodeSaid(lines);
  const isStopped = message.cancelled === true || details.end === "abort" || details.aborted === true;
  const isAborted = isStopped || (code === undefined && lines.slice(-3).some((line) => ABORTED.test(line)));
  const isFailed = message.isError === true || (code !== undefined && code !== 0);
  const state = isAborted ? "aborted" : isFailed ? "failed" : "passed";
  return { state, hasExitCode: code !== undefined, lines };
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .slice(-MAX_LINES)
    .map((line) => withoutTerminalControls(textHead(line, MAX_LINE_CHARS)).replace(/^[\s│╷╵┃]+|\s+$/gu, ""))
    .filter((line) => line !== "");
}

function exitCodeIn(fields: unknown): number | undefined {
  if (!isRecord(fields)) return undefined;
  const codes = [fields.exitCode, fields.exit_code, fields.exitcode, fields.returncode, fields.exit];
  return codes.find((code) => typeof code === "number") as number | undefined;
}

/** A line with only an exit code, at either end of the output: `Command exited with code 1`, `[Exit code 1.]`, `EXIT=1`. */
const EXIT_LINE =
  /^\W*(?:(?:the )?(?:shell )?(?:command|process|program|script|task) (?:has )?)?(?:failed with )?(?:exit(?:ed)?|return(?:ed)?|rc)(?:[ _-]?(?:with|code|status|value))*\W{1,4}(-?\d{1,3})\W*(?:\/\w+>?)?$/i;

function exitCodeSaid(lines: readonly string[]): number | undefined {
  for (const line of [...lines.slice(-3).reverse(), ...lines.slice(0, 3)]) {
    const said = line.length < 80 ? EXIT_LINE.exec(line) : null;
    const code = said ?? /"exit_?code"\s{0,3}:\s{0,3}(-?\d{1,3})\b/i.exec(line);
    if (code !== null) return Number(code[1]);
  }
  return undefined;
}

const ABORTED =
  /^\W*(?:(?:command|operation) aborted|stopped by the user|aborted|request interrupted|interrupted by user|cancelled)\b/i;

/** `3 failed`, `Failures: 1`, `failures=2`. */
const COUNTS_FAILED =
  /\b[1-9]\d* (?:(?:tests?|specs?|examples?|suites?) )?(?:failed|failing|failures?|errors?)\b|\b(?:fail(?:ed|ures?|ing)?|errors?)["']?(?:: |=| )[1-9]\d*\b/i;
const COUNTS_PASSED =
  /\b[1-9]\d* (?:(?:tests?|specs?|examples?) )?pass(?:ed|ing)?\b|\bpass(?:ed)?(?:: | )[1-9]|\btest result: ok|^OK\b|^ok\s|\b(?:0|no) (?:errors?|problems|failures|failed|issues)\b|\bBUILD SUCCESS/i;
const SAYS_FAILED =
  /^npm (?:ERR!|error)|\bELIFECYCLE\b|^(?:---? )?FAIL(?:ED)?\b|^(?:✗|✖|×) |^not ok \d|^Traceback |\bBUILD FAIL|\bSegmentation fault|: command not found|^! \[|^make(?:\[\d+\])?: \*\*\*/;

/** True if the output clearly reports a failure: by its counts, else by one of its lines. */
export function saysFailed(lines: readonly string[]): boolean {
  const end = lines.slice(-30);
  if (end.some((line) => COUNTS_FAILED.test(line))) return true;
  if (end.some((line) => COUNTS_PASSED.test(line))) return false;
  return lines.some((line) => [SAYS_FAILED, PLACED, RAISED].some((shape) => shape.test(line)));
}

/** An error with its location, as compilers and linters print it, or a rejection by git, the linker or the database. */
const PLACED =
  /^! \[|\berror TS\d+|^error\[\w+\]|^[^\s:]{1,200}(?::\d+(?::\d+)?|\(\d+,\d+\)):?\s{1,8}(?:fatal )?error\b|^\d+:\d+\s+error\b|^\[ERROR\] \S{1,200}:\[|undefined reference to|^(?:psql:\S{1,200} )?ERROR: {2}/;
/** A thrown error, or a line that begins with a word for error. */
const RAISED =
  /^\W{0,4}(?:Uncaught )?(?:(?:[\w$]+[.:]{1,2}){0,9}\w*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)(?:\s\[\w+\])?(?:[:!(]|\s\S.{0,120}?:)|^Caused by:|^E {2,}(?:assert|[\w.]+(?:Error|Exception))\b|^thread '.{0,80}' .{0,20}panicked/;

const MENTIONED = /\berrors?\b|\bfail(?:ed|ure|ures|ing)?\b|\bexception\b|\bfatal\b|✗|✖|❌|\bkilled\b/i;

/** Shapes of lines that name the error, the most specific first. */
const DECISIVE = [
  PLACED,
  RAISED,
  /: (?:command )?not found\b|permission denied|\bno such file\b|\bassert(?:ion)?\b.{0,100}\bfail|\bexpected\b.{0,100}\b(?:got|received|actual|but|to)\b|\bgot\b.{0,100}\bwant\b|^[^\s:]{1,200}\.\w{1,5}:\d+(?::\d+)?: (?!warning|note|info)/i,
  /\b(?:ECONN[A-Z]+|E[A-Z]{3,}(?=[: ,])|ERR_[A-Z_]+)\b|\b\w{1,80}(?:Error|Exception):/,
  /^(?:--- )?FAIL(?:ED)?\b.|^(?:✗|✖|×|✘|●) |^not ok \d|\b(?:denied|refused|rejected|unauthori[sz]ed|forbidden|timed out|unreachable|not found|cannot|could not|unable to|invalid|missing|conflict)\b/i,
  MENTIONED,
];
/** Lines around the error: notes of wrappers, stack frames, progress. */
const NOISE =
  /^(?:npm (?:warn|notice|(?:ERR!|error) (?:code |path |command |A complete |Lifecycle |errno ))|pnpm: |yarn run|error Command failed|ELIFECYCLE|make(?:\[\d+\])?: |at .{1,300}[():]|at \S+:\d+|File "|Debugger |\(node:|\(Use `node|node:internal|\^|>|\d+ ?\||=+ |-{3,}|✓|√|✔|ok\b|PASS\b|(?:\S+ )?(?:INFO|DEBUG|TRACE|WARN(?:ING)?)\b|warning\b|\[?(?:exit code|command exited)|error: (?:aborting due to|could not compile|test failed, to rerun|linker command failed)|To see|FAILURE: Build failed|For more|Some errors have|Traceback )|\bld returned \d|\b0 (?:errors?|failed|failures)\b/i;

/** The line that names the error, by its shape; else the last line, if the command is known to have run. */
export function decisiveLine({ lines, hasExitCode }: RunResult): string | undefined {
  const telling = lines.filter((line) => !NOISE.test(line) && !EXIT_LINE.test(line));
  for (const shape of DECISIVE) {
    const fits = (line: string) => shape.test(line);
    // A compiler's first error causes the later ones. The last thrown error is the outcome of the earlier ones.
    const isLast = shape === RAISED || shape === MENTIONED;
    const at = isLast ? telling.findLastIndex(fits) : telling.findIndex(fits);
    // A line that ends in a colon announces the next one.
    const next = telling[at]?.endsWith(":") ? (telling[at + 1] ?? "") : "";
    if (at >= 0) return clipped(`${telling[at]} ${next}`, 240);
  }
  return hasExitCode && telling.length > 0 ? clipped(telling.at(-1)!, 240) : undefined;
}

/** Joins the text into one line of at most `chars` characters. Never cuts within a character. */
export function clipped(text: string, chars: number): string {
  const line = textHead(text, chars * 8).replace(/[\r\n]+\s*/g, " ");
  return shortened(line.trim(), chars);
}
