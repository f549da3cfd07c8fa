import type { Invocation } from "@bonsai-agent/app/invocation";
import { span } from "@bonsai-agent/app/line";
import { bytes } from "@bonsai-agent/app/numbers";
import { freeModels } from "@bonsai-agent/app/session-facts";
import {
  openNamedSession,
  outputFile,
  requireMarkdownName,
  resolveEntryId,
  writeOutput,
} from "@bonsai-agent/app/session-file";
import { printableLines } from "@bonsai-agent/app/terminal-text";
import { exportMarkdown } from "@bonsai-agent/transcripts";

/** What `bonsai export --json` prints: the text itself, or where it was written. */
type ExportReport =
  | { format: "markdown"; file: string; sizeBytes: number }
  | { format: "markdown"; text: string };

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, io, output } = invocation;
  const file = outputFile(invocation);
  if (file !== undefined) requireMarkdownName(file);
  const session = openNamedSession(invocation);
  const leaf = typeof options.leaf === "string" ? { leafId: resolveEntryId(session, options.leaf) } : {};
  const text = exportMarkdown(session, { ...leaf, all: options.all === true, isFree: await freeModels(io) });
  if (file !== undefined) {
    writeOutput(file, text);
    const sizeBytes = Buffer.byteLength(text);
    const report: ExportReport = { format: "markdown", file, sizeBytes };
    output.result(report, () => [["Written to ", span(file, "cyan"), `, ${bytes(sizeBytes)}`]]);
  } else if (output.wantsJson) output.json({ format: "markdown", text } satisfies ExportReport);
  else io.stdout.write(io.stdout.isTTY ? `${printableLines(text).join("\n")}\n` : text);
}
