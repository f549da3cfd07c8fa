import { stripVTControlCharacters } from "node:util";
import type { Command } from "./command.ts";
import type { Call } from "./transcript.ts";

export type Outcome = "passed" | "failed" | "aborted" | "unknown";

const FAILED_OUTPUT =
  /\berror TS\d+|^npm (?:ERR!|error)|\bnpm error\b|\bELIFECYCLE\b|^FAIL\b|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures|errors?)\b|Tests?:\s+[1-9]\d* failed|^Traceback |^panic:|^(?:error|fatal)(?:\[\w+\])?:|\bBUILD FAILED\b|^\s*✗ |^\s*✖ [1-9]|\bSegmentation fault|^(?:\w+\.)*\w*(?:Error|Exception): |exited with (?:code|status) [1-9]|exit (?:code|status)[: ]+[1-9]|\bcommand not found\b|ECONNREFUSED|EADDRINUSE|ENOSPC|Permission denied/m;
const EXIT_CODE = /(?:exited with code|exit code|exit status)[: ]+(\d+)\s*\)?\s*$/;

/**
 * What came of a command. A pipe hides the exit code of what matters, so the output of tests, builds and checks is
 * read as well; a search that finds nothing has not failed.
 */
export function outcomeOf(call: Call, command: Command | undefined): Outcome {
  if (call.outcome === "aborted") return "aborted";
  if (call.outcome === "unknown") return "unknown";
  if (command === undefined) return call.outcome === "failed" ? "failed" : "passed";
  const exitCode = EXIT_CODE.exec(call.output)?.[1];
  const nothingFound = /^\s*(?:\(no output\)\s*)?(?:Command exited with code 1)?\s*$/.test(call.output);
  if (command.filtered && nothingFound) return "passed";
  if (command.family === "look") return call.outcome === "failed" && exitCode !== "1" ? "failed" : "passed";
  if (call.outcome === "failed" || (exitCode !== undefined && exitCode !== "0")) return "failed";
  const judged = command.family === "test" || command.family === "build" || command.family === "check";
  return judged && FAILED_OUTPUT.test(call.output) ? "failed" : "passed";
}

const ERROR_LINE =
  /error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|unable|invalid|undefined|unexpected|expected|missing|timed? ?out|timeout|conflict|abort|killed|segfault|traceback|assert|E[A-Z]{4,}|fehler|erreur|échec|échou|errore|erro\b|fallo|ошибк|не удалось|错误|失败|异常|エラー|失敗|例外|오류|실패/iu;
const NOISE_LINE =
  /^(?:npm (?:ERR!|error) (?:code|path|workspace|location|command|errno|A complete log|Lifecycle)|npm warn|>|\(node:|Debugger|Waiting for the debugger|at .+\(|at \S+:\d+|Command exited with code|Command aborted|\^|\d+ \||\s*$|ELIFECYCLE|Error in the js-debug|node:internal|error Command failed|make: \*\*\*|husky -|.*\b0 (?:errors?|failed|failures)\b)/i;

/** The lines of an output that say what went wrong, most telling first, at most `limit`. */
export function errorLines(output: string, limit: number): string[] {
  const lines = output
    .split(/\r?\n/)
    .map((line) => stripVTControlCharacters(line).trim())
    .filter((line) => line !== "" && line.length < 600 && !NOISE_LINE.test(line));
  const telling = lines.filter((line) => ERROR_LINE.test(line));
  const sharp = telling.filter((line) =>
    /\b\w*(?:Error|Exception)\b|error\b|E[A-Z]{4,}|^FAIL|panic|fatal|错误|エラー|ошибк/iu.test(line),
  );
  const chosen = [...new Set([...sharp, ...telling, ...lines.slice(-1)])].slice(0, limit);
  return chosen.map((line) => (line.length > 180 ? `${line.slice(0, 177)}…` : line));
}
