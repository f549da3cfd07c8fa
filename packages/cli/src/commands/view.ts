import { BonsaiError } from "@bonsai-agent/messages";
import { type PageOptions, type PageSource, servePage } from "@bonsai-agent/page";
import { bonsaiHome } from "@bonsai-agent/session";
import { importTranscript } from "@bonsai-agent/transcripts";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { filePageSource, knownCatalogue, pageOptions } from "../call/page-source.ts";
import { latestSession } from "../call/session-choice.ts";
import { sessionFile } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { inMemory, transcriptSession } from "../call/transcript-session.ts";
import { span } from "../views/line.ts";

const MOST_PORT = 65_535;

/** Serves a session's page until it is closed, or Ctrl-C ends it. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output, options } = invocation;
  const named =
    invocation.args[0] === undefined ? { ...invocation, args: [latestFile(invocation)] } : invocation;
  const source = await sourceOf(named);
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

async function serve(source: PageSource, port: number | undefined) {
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
  // It is another agent's, who may be at work: a session is made of it anew.
  return filePageSource(file, options, () => inMemory(importTranscript({ path: file })));
}

/** What the page of a command's session says beyond it. */
export async function namedPageOptions(invocation: Invocation, program?: string): Promise<PageOptions> {
  const { io, options, output } = invocation;
  return pageOptions({
    home: bonsaiHome(io.env),
    env: io.env,
    catalogue: await knownCatalogue(io, (notice) => output.notify(notice)),
    settings: callSettings(invocation),
    redact: options.redact !== false,
    program,
  });
}

function portOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= MOST_PORT) return port;
  throw wrongUsage(
    `--port must be a number from 0 to ${MOST_PORT}, not ${String(value)}.`,
    "Write --port 0 for any free port.",
  );
}

function latestFile({ io, options, output }: Invocation): string {
  return latestSession({ cwd: io.cwd, call: { io, options }, onNotice: (notice) => output.notify(notice) });
}
