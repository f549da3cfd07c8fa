import { withoutTerminalControls } from "@bonsai-agent/messages";
import type { Command } from "./command.ts";
import { gist } from "./gist.ts";
import type { Call } from "./transcript.ts";

export type Outcome = "passed" | "failed" | "aborted" | "unknown";

const FAILED_OUTPUT =
  /\berror TS\d+|^npm (?:ERR!|error)|\bnpm error\b|\bELIFECYCLE\b|^FAIL\b|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures|errors?)\b|Tests?:\s+[1-9]\d* failed|^Traceback |^panic:|^(?:error|fatal)(?:\[\w+\])?:|\bBUILD FAILED\b|^\s*✗ |^\s*✖ [1-9]|\bSegmentation fault|^(?:\w+\.)*\w*(?:Error|Exception): |exited with (?:code|status) [1-9]|exit (?:code|status)[: ]+[1-9]|\bcommand not found\b|ECONNREFUSED|EADDRINUSE|ENOSPC|Permission denied/m;
/** As agents word it, at the end of an output or, in a report of their own, at its start. */
const EXIT_CODE =
  /(?:exited with code|exit code|exit status|"exit_code")[": ]+(\d+)\s*\W*\s*$|^(?:Process )?(?:exited with code|Exit code)[: ]+(\d+)|"exit_code":\s*(\d+)/i;
const PASSED_OUTPUT =
  /\b\d+ (?:tests? )?pass(?:ed|ing)\b|\btest result: ok|\b0 (?:errors?|problems|failures|failed)\b|^OK\b/m;

/**
 * What came of a command. A pipe hides the exit code of what matters, so the output of tests, builds and checks is
 * read as well; a search that finds nothing has not failed.
 */
export function outcomeOf(call: Call, command: Command | undefined): Outcome {
  if (call.outcome === "aborted") return "aborted";
  if (call.outcome === "unknown") return "unknown";
  if (command === undefined) return call.outcome === "failed" ? "failed" : "passed";
  const exitCode = exitCodeOf(call.output);
  const nothingFound = /^\s*(?:\(no output\)\s*)?(?:Command exited with code 1)?\s*$/.test(call.output);
  if (command.filtered && nothingFound) return "passed";
  if (command.family === "look") return call.outcome === "failed" && exitCode !== "1" ? "failed" : "passed";
  if (call.outcome === "failed" || (exitCode !== undefined && exitCode !== "0")) return "failed";
  return isJudged(command) && showsFailure(call.output, command) ? "failed" : "passed";
}

function exitCodeOf(output: string): string | undefined {
  return EXIT_CODE.exec(output)
    ?.slice(1)
    .find((code) => code !== undefined);
}

function isJudged({ family }: Command): boolean {
  return family === "test" || family === "build" || family === "check";
}

/** Without a pipe the exit code was seen, and only an unmistakable end of the output speaks against it. */
function showsFailure(output: string, command: Command): boolean {
  const end = output.trimEnd().split("\n").slice(-12).join("\n");
  const text = command.piped ? output : end;
  return FAILED_OUTPUT.test(text) && (command.piped ? !isAllPassed(end) : !PASSED_OUTPUT.test(end));
}

function isAllPassed(end: string): boolean {
  return PASSED_OUTPUT.test(end) && !/\b[1-9]\d* (?:tests? )?(?:failed|failing|failures|errors?)\b/.test(end);
}

const ERROR_LINE =
  /error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|unable|invalid|undefined|unexpected|expected|missing|timed? ?out|timeout|conflict|abort|killed|segfault|traceback|assert|E[A-Z]{4,}|fehler|erreur|échec|échou|errore|erro\b|fallo|ошибк|не удалось|错误|失败|异常|エラー|失敗|例外|오류|실패/iu;
const NOISE_LINE =
  /^(?:npm (?:ERR!|error) (?:code|path|workspace|location|command|errno|A complete log|Lifecycle)|npm warn|(?:FAIL|FAILED|FAILURES?)\s*(?:\(.*\))?$|=+ .* =+$|>|\(node:|Debugger|Waiting for the debugger|at .+\(|at \S+:\d+|Command exited with code|Command aborted|\^|\d+ \||\s*$|ELIFECYCLE|Error in the js-debug|node:internal|error Command failed|make: \*\*\*|husky -|.*\b0 (?:errors?|failed|failures)\b)/i;

const SHARP_LINE =
  /\b\w*(?:Error|Exception)\b|\berror\b|\bE[A-Z]{4,}|^FAIL|panic|fatal|denied|refused|\bgot\b.*\bwant|\bexpected\b|\breceived\b|--- FAIL|^E\s{2}|错误|エラー|ошибк/iu;
/** Progress, listings and log lines of a level below error: they stand around the error and are not it. */
const CALM_LINE = /^(?:✓|√|✔|ok\b|PASS\b|[d-][rwx-]{9}\s|.*\b(?:INFO|DEBUG|TRACE)\b)/;

/** The lines of an output that say what went wrong, at most `limit`, in their order; the end speaks louder. */
export function errorLines(output: string, limit: number): string[] {
  const lines = output
    .split(/\r?\n/)
    .map((line) => withoutTerminalControls(line).trim())
    .filter((line) => line !== "" && line.length < 600 && !NOISE_LINE.test(line));
  const rated = [...new Set(lines)].map((line, at) => ({
    line,
    at,
    rate: rateLine(line) + (at + 1) / lines.length,
  }));
  const best = rated
    .sort((a, b) => b.rate - a.rate)
    .slice(0, limit)
    .filter((entry, position) => position === 0 || entry.rate >= 2)
    .sort((a, b) => a.at - b.at);
  return best.map(({ line }) => gist(line, 180));
}

function rateLine(line: string): number {
  return (SHARP_LINE.test(line) ? 2 : 0) + (ERROR_LINE.test(line) ? 1 : 0) - (CALM_LINE.test(line) ? 3 : 0);
}
