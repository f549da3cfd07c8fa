import { contentText, isRecord, textHead } from "@bonsai-agent/messages";
import { withoutTerminalControls } from "@bonsai-agent/messages/host";
import { decisiveLine, EXIT_LINE, PLACED_ERROR, RAISED_ERROR } from "./error-line.ts";
import { clippedLine } from "./sentence.ts";

/** The output of a command or tool, and how it ended. */
export interface RunResult {
  state: "passed" | "failed" | "aborted" | "refused";
  /** False if the command may not have run: the user refused it, or the tool broke. */
  hasExitCode: boolean;
  lines: readonly string[];
}

/** Only the last lines of a longer output are read. */
const MAX_LINES = 3_500;
const MAX_LINE_CHARS = { read: 400, shown: 240 };

/** Reads the result of a tool, or of a command that the user ran by hand. */
export function resultOf(message: Record<string, unknown>): RunResult {
  const text = contentText(message.content ?? message.output);
  const wrapped = wrappedOutput(text);
  const lines = linesOf(wrapped?.output ?? text);
  const details = isRecord(message.details) ? message.details : {};
  const code =
    exitCodeIn(message) ??
    exitCodeIn(details) ??
    exitCodeIn(details.metadata) ??
    exitCodeIn(wrapped?.metadata) ??
    reportedExitCode(lines);
  const isStopped = message.cancelled === true || details.end === "abort" || details.aborted === true;
  const isAborted = isStopped || (code === undefined && lines.slice(-3).some((line) => ABORTED.test(line)));
  const isFailed = message.isError === true || (code !== undefined && code !== 0);
  // Some agents report the exit code 0 for a refused command.
  const isRefused = !code && lines.length <= MAX_REFUSAL_LINES && REFUSED.test(lines[0] ?? "");
  const state = isAborted ? "aborted" : isRefused ? "refused" : isFailed ? "failed" : "passed";
  return { state, hasExitCode: code !== undefined, lines };
}

/** The fields of a result that an agent wrote as JSON: `{"output": "…", "metadata": {"exit_code": 1}}`. */
function wrappedOutput(text: string): { output: string; metadata: unknown } | undefined {
  if (!/^\s*\{\s*"/.test(text) || !text.includes('"output"')) return undefined;
  try {
    const { output, metadata } = JSON.parse(text);
    return typeof output === "string" ? { output, metadata } : undefined;
  } catch {
    return undefined;
  }
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .slice(-MAX_LINES)
    .map((line) =>
      withoutTerminalControls(textHead(line, MAX_LINE_CHARS.read))
        .trimEnd()
        .replace(/^[\s│╷╵┃]+/u, "")
        .replace(OUTPUT_LABEL, ""),
    )
    .filter((line) => line !== "" && !WRAPPER_LINE.test(line));
}

/** Lines with which agents wrap an output. */
const WRAPPER_LINE =
  /^(?:(?:Error|Stderr|Stdout|Output|Signal|Background PIDs): \((?:none|empty)\)|(?:Command|Directory|Wall time|Process Group PGID): .*|<\/?(?:stdout|stderr|output)>)$/;
const OUTPUT_LABEL = /^(?:Output|Stdout|Stderr):\s*/;

function exitCodeIn(fields: unknown): number | undefined {
  if (!isRecord(fields)) return undefined;
  const codes = [fields.exitCode, fields.exit_code, fields.exitcode, fields.returncode, fields.exit];
  return codes.find((code) => typeof code === "number") as number | undefined;
}

function reportedExitCode(lines: readonly string[]): number | undefined {
  for (const line of [...lines.slice(-4).reverse(), ...lines.slice(0, 4)]) {
    const said = line.length < 80 ? EXIT_LINE.exec(line) : null;
    const code = said ?? /"exit_?code"\s{0,3}:\s{0,3}(-?\d{1,3})\b/i.exec(line);
    if (code !== null) return Number(code[1]);
  }
  return undefined;
}

/** Sentences with which agents report, instead of an output, that the user did not allow a command. */
const REFUSED =
  /^(?:Blocked: )?(?:the )?user (?:has )?(?:refused|rejected|declined|denied|disallowed|(?:doesn|didn)['’]t (?:want|allow|approve)|did not (?:want|allow|approve))\b|^(?:this |the )?(?:exec |shell )?(?:command|call|tool(?: use| call)?|action|operation|execution) (?:was |has been )?(?:refused|rejected|declined|denied|disallowed|not (?:allowed|approved)) by (?:the )?user\b/i;
const MAX_REFUSAL_LINES = 6;
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
export function reportsFailure(lines: readonly string[]): boolean {
  const end = lines.slice(-30);
  if (end.some((line) => COUNTS_FAILED.test(line))) return true;
  if (end.some((line) => COUNTS_PASSED.test(line))) return false;
  return lines.some((line) => [SAYS_FAILED, PLACED_ERROR, RAISED_ERROR].some((shape) => shape.test(line)));
}

export function failureLine({ lines, hasExitCode }: RunResult, command: string): string | undefined {
  const line = decisiveLine(lines, { command, hasExitCode });
  return line && clippedLine(line, MAX_LINE_CHARS.shown);
}
