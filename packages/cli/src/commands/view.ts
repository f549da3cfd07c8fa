import { appendFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { PageOptions, PageSource } from "@bonsai-agent/page";
import { bonsaiHome } from "@bonsai-agent/session";
import { exportMarkdown, importTranscript } from "@bonsai-agent/transcripts";
import { knownCatalogue, secretsOf } from "../call/catalogue.ts";
import { databaseUrl, withDatabase } from "../call/database.ts";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { filePageSource, pageOptions } from "../call/page-source.ts";
import { isPath, latestSession, nothingToContinue } from "../call/session-choice.ts";
import {
  exportFormat,
  openNamedSession,
  outputFile,
  resolveEntryId,
  sessionFile,
  writeOutput,
} from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/session-import.ts";
import { agentCallSettings, callSettings } from "../call/settings.ts";
import { span } from "../views/line.ts";
import { bytes, counted } from "../views/numbers.ts";
import { freeAmong } from "../views/session-facts.ts";
import { printableLines } from "../views/terminal-text.ts";

const MAX_PORT = 65_535;

/** Serves a session's page until it is closed, or Ctrl-C ends it. */
export async function view(invocation: Invocation): Promise<ExitCode> {
  const [name] = invocation.args;
  const isFile = name !== undefined && isPath.test(name);
  if (!isFile && databaseUrl(invocation) !== undefined) return viewShared(invocation);
  const named = name === undefined ? { ...invocation, args: [latestSession(invocation)] } : invocation;
  return showPage(invocation, await sourceOf(named));
}

async function showPage({ io, output, options }: Invocation, source: PageSource): Promise<ExitCode> {
  const { openPrivately } = await import("@bonsai-agent/extension/login");
  return io.interruptible(async (signal) => {
    const page = await serve(source, portOf(options.port));
    signal.addEventListener("abort", () => void page.close(), { once: true });
    output.result({ url: page.url }, () => [
      [span(page.url, "cyan")],
      ["Anyone with this address can read the session. Press Ctrl-C or close the page to stop."],
    ]);
    const opened = options.open === false ? undefined : await openPrivately(page.url, { env: io.env });
    await page.ended;
    opened?.forget();
    return ExitCode.done;
  });
}

/** Serves the page of a shared session: its copy in a temporary file gets the new entries of the database. */
function viewShared(invocation: Invocation): Promise<ExitCode> {
  return withDatabase(invocation, async ({ sessions }) => {
    const { io, output } = invocation;
    const [name] = invocation.args;
    const id =
      name === undefined
        ? (await sessions.list({ cwd: io.cwd, limit: 1 }))[0]?.id
        : await sessions.find(name);
    if (id === undefined) throw nothingToContinue(io.cwd);
    const folder = mkdtempSync(join(tmpdir(), "bonsai-view-"));
    const stop = new AbortController();
    try {
      const file = join(folder, "session.jsonl");
      await sessions.pull(id, file);
      const added = sessions.watch(id, { from: statSync(file).size, signal: stop.signal });
      follow(added, file).catch(({ message }) =>
        output.notify({
          code: "view_stopped",
          message: `The page shows no new entries any more: ${message} Run the command again.`,
        }),
      );
      return await showPage(invocation, filePageSource(file, await namedPageOptions(invocation)));
    } finally {
      stop.abort();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

async function follow(parts: AsyncIterable<Buffer>, file: string): Promise<void> {
  for await (const part of parts) if (existsSync(file)) appendFileSync(file, part);
}

async function serve(source: PageSource, port: number | undefined) {
  const { servePage } = await import("@bonsai-agent/page");
  try {
    return await servePage({ source, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    throw new BonsaiError({
      code: "port_taken",
      message: `Cannot use port ${port}: ${code === "EACCES" ? "the system reserves it" : "another program uses it"}.`,
      hint: "Choose another --port, or remove --port.",
      cause: error,
    });
  }
}

async function sourceOf(invocation: Invocation): Promise<PageSource> {
  const imported = transcriptSession(invocation, "Showing it as a session.");
  const file = sessionFile(invocation);
  if (imported === undefined) return filePageSource(file, await namedPageOptions(invocation));
  const options = await namedPageOptions(invocation, imported.report.program);
  // The other agent may still write to it, so each look imports it again.
  return filePageSource(file, options, () => inMemory(importTranscript({ path: file })));
}

export async function namedPageOptions(invocation: Invocation, program?: string): Promise<PageOptions> {
  const { io, options } = invocation;
  return pageOptions({
    home: bonsaiHome(io.env),
    env: io.env,
    catalogue: await knownCatalogue(invocation),
    settings: callSettings(invocation),
    redact: options.redact !== false,
    program,
  });
}

function portOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= MAX_PORT) return port;
  throw wrongUsage(
    `--port must be a number from 0 to ${MAX_PORT}, not ${String(value)}.`,
    "Write --port 0 for any free port.",
  );
}

/** The JSON of `bonsai session export`: the text itself, or where it was written. */
type ExportReport =
  | { format: "markdown"; file: string; sizeBytes: number }
  | { format: "markdown"; text: string }
  | { format: "html"; file: string; sizeBytes: number; redacted: number };

export async function exportSession(invocation: Invocation): Promise<undefined> {
  const { args, options } = invocation;
  const file = outputFile(invocation, args[1]);
  const format = file === undefined ? "markdown" : exportFormat(file);
  if (format === "html") return exportPage(invocation, file!);
  if (format === "bonsai") return exportArchive(invocation, file!);
  if (options.redact === false)
    throw wrongUsage(
      "--no-redact does not work for Markdown, which never contains keys.",
      "Write to a file like session.html or session.bonsai.",
    );
  return exportText(invocation, file);
}

async function exportText(invocation: Invocation, file: string | undefined): Promise<undefined> {
  const { options, io, output } = invocation;
  const session = sessionOf(invocation).session;
  const leaf = typeof options.leaf === "string" ? { leafId: resolveEntryId(session, options.leaf) } : {};
  const catalogue = await knownCatalogue(invocation);
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

async function exportArchive(invocation: Invocation, file: string): Promise<undefined> {
  const { io, options, output } = invocation;
  refuseBranch(invocation);
  const { archiveWords, writeArchive } = await import("../call/archive/session-archive.ts");
  const { session } = sessionOf(invocation);
  const report = await withProgress(io, "Exporting", async () =>
    writeArchive({
      ...{ session, file, settings: agentCallSettings(invocation), cwd: io.cwd },
      secrets:
        options.redact === false
          ? undefined
          : secretsOf({ home: bonsaiHome(io.env), env: io.env, catalogue: await knownCatalogue(invocation) }),
    }),
  );
  session.close();
  output.result(report, () => [["Wrote ", span(file, "cyan"), archiveWords(report)]]);
}

function refuseBranch({ options }: Invocation): void {
  if (options.leaf === undefined && options.all !== true) return;
  throw wrongUsage(
    "--leaf and --all work only for Markdown: other exports always have all branches.",
    "Remove them.",
  );
}

async function exportPage(invocation: Invocation, file: string): Promise<undefined> {
  const { output } = invocation;
  refuseBranch(invocation);
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
