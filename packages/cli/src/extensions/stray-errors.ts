import { type ExtensionHost, strayErrorNotice } from "@bonsai-agent/extension";
import { ExitCode } from "../exit-code.ts";
import { printableLines } from "../views/printable.ts";

let tell: ExtensionHost["onNotice"] | undefined;
/** One in a timer that returns is told once. */
const told = new Set<string>();

/**
 * An error in a timer of an extension, or in a promise that it does not wait for, is a notice, and the work goes on. Any
 * other ends the process, as it would without this.
 */
export function surviveStrayErrors(onNotice: ExtensionHost["onNotice"]): void {
  if (tell === undefined) process.on("uncaughtException", caught);
  tell = onNotice;
}

function caught(error: unknown): void {
  const notice = strayErrorNotice(error);
  if (notice !== undefined) {
    if (!told.has(notice.message)) tell?.(notice);
    told.add(notice.message);
    return;
  }
  // Whoever else listens decides.
  if (process.listenerCount("uncaughtException") > 1) return;
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${printableLines(stack).join("\n")}\n`);
  process.exit(ExitCode.failed);
}
