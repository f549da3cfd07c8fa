import { bonsaiHome } from "@bonsai-agent/session";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { knownCatalogue, secretsOf } from "../call/page-source.ts";
import {
  exportFormat,
  openNamedSession,
  outputFile,
  resolveEntryId,
  writeOutput,
} from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/transcript-session.ts";
import { span } from "../views/line.ts";
import { bytes, counted } from "../views/numbers.ts";
import { freeAmong } from "../views/session-facts.ts";
import { printableLines } from "../views/terminal-text.ts";
import { namedPageOptions } from "./view.ts";

/** The JSON of `bonsai session export`: the text itself, or where it was written. */
type ExportReport =
  | { format: "markdown"; file: string; sizeBytes: number }
  | { format: "markdown"; text: string }
  | { format: "html"; file: string; sizeBytes: number; redacted: number };

export async function run(invocation: Invocation): Promise<undefined> {
  const { args, options } = invocation;
  const file = outputFile(invocation, args[1]);
  if (file !== undefined && exportFormat(file) === "html") return exportPage(invocation, file);
  if (options.redact === false)
    throw wrongUsage(
      "--no-redact works only for HTML pages: Markdown never contains keys.",
      "Write to a file like session.html.",
    );
  return exportText(invocation, file);
}

async function exportText(invocation: Invocation, file: string | undefined): Promise<undefined> {
  const { options, io, output } = invocation;
  const session = sessionOf(invocation).session;
  const leaf = typeof options.leaf === "string" ? { leafId: resolveEntryId(session, options.leaf) } : {};
  const catalogue = await knownCatalogue(io, (notice) => output.notify(notice));
  const text = exportMarkdown(session, {
    ...leaf,
    all: options.all === true,
    isFree: freeAmong(catalogue.models),
    secrets: secretsOf({ home: bonsaiHome(io.env), env: io.env, catalogue }),
  });
  if (file !== undefined) {
    writeOutput(file, text);
    const sizeBytes = Buffer.byteLength(text);
    const report: ExportReport = { format: "markdown", file, sizeBytes };
    output.result(report, () => [["Wrote ", span(file, "cyan"), `, ${bytes(sizeBytes)}`]]);
  } else if (output.wantsJson) output.json({ format: "markdown", text } satisfies ExportReport);
  else io.stdout.write(io.stdout.isTTY ? `${printableLines(text).join("\n")}\n` : text);
}

async function exportPage(invocation: Invocation, file: string): Promise<undefined> {
  const { options, output } = invocation;
  if (options.leaf !== undefined || options.all === true)
    throw wrongUsage(
      "--leaf and --all work only for Markdown: a page always has all branches.",
      "Remove them.",
    );
  const { session, program } = sessionOf(invocation);
  const { pageHtml, SessionPage } = await import("@bonsai-agent/page");
  const page = new SessionPage(session, await namedPageOptions(invocation, program));
  let sizeBytes = 0;
  const pieces = pageHtml(page);
  function* counting() {
    for (const piece of pieces) {
      sizeBytes += Buffer.byteLength(piece);
      yield piece;
    }
  }
  writeOutput(file, counting());
  const { redacted } = page;
  const report: ExportReport = { format: "html", file, sizeBytes, redacted };
  const left = redacted === 0 ? "" : `, ${counted(redacted, "secret")} removed`;
  output.result(report, () => [["Wrote ", span(file, "cyan"), `, ${bytes(sizeBytes)}${left}`]]);
}

/** A session, or another agent's transcript as one. */
function sessionOf(invocation: Invocation) {
  const imported = transcriptSession(invocation, "Exported it as a session.");
  if (imported === undefined) return { session: openNamedSession(invocation), program: undefined };
  return { session: inMemory(imported), program: imported.report.program };
}
