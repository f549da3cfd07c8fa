import { BonsaiError } from "@bonsai-agent/messages";
import { type Line, marked, span } from "../views/line.ts";
import { printableLines, wrap } from "../views/terminal-text.ts";
import { ExitCode } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { Output, outputJson } from "./output.ts";

export function wrongUsage(message: string, hint: string, cause?: unknown): BonsaiError {
  return new BonsaiError({ code: "wrong_usage", message, hint, cause });
}

/** Errors in the user's words, not failures of the work. */
const usageCodes: ReadonlySet<string> = new Set(["wrong_usage", "unknown_command", "no_prompt"]);

export function reportFailure(error: unknown, io: CliIo, wantsJson: boolean): ExitCode {
  const known = knownError(error);
  const { code, message, hint } = known;
  if (wantsJson) io.stderr.write(`${outputJson({ error: { code, message, hint } })}\n`);
  else {
    const output = new Output(io, false);
    output.note(...failureLines(known, io, output.noticeWidth - 2));
  }
  return usageCodes.has(code) ? ExitCode.usage : ExitCode.failed;
}

function failureLines(error: BonsaiError, io: CliIo, width: number): Line[] {
  return [
    ...marked(span("✗ ", "red"), wrapped(`${error.message} [${error.code}]`, width), "bold"),
    ...wrapped(error.hint, width).map((line) => ["  ", line]),
    ...(io.env.BONSAI_DEBUG ? wrapped(causes(error), 200).map((line) => ["  ", span(line, "gray")]) : []),
  ];
}

function wrapped(text: string, width: number): string[] {
  return printableLines(text).flatMap((line) => wrap(line, width));
}

function causes(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${causes(error.cause)}` : own;
}

/** Gives system errors and errors of Bonsai itself a code and a hint. */
export function knownError(error: unknown): BonsaiError {
  if (BonsaiError.is(error)) return error;
  const system = error as NodeJS.ErrnoException;
  const message = error instanceof Error ? error.message : String(error);
  if (typeof system?.syscall === "string") {
    return new BonsaiError({
      code: "file_access_failed",
      message: `The operating system reported an error: ${message}.`,
      hint: "Check that the path exists, that you have access, and that the disk is not full.",
      cause: error,
    });
  }
  return new BonsaiError({
    code: "unexpected_error",
    message: `Unexpected error: ${message}`,
    hint: "This is a bug in Bonsai. Run again with BONSAI_DEBUG=1 and report the output.",
    cause: error,
  });
}
