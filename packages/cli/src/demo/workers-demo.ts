import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { databaseUrl } from "../call/database.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { calledAs } from "../call/paths.ts";
import { type Line, paragraph, span } from "../views/line.ts";
import { duration } from "../views/numbers.ts";
import { postgresProgram, startServer } from "./postgres-program.ts";
import { Guardian } from "./workers.ts";
import { type DemoEvent, type DemoReport, runWorkers } from "./workers-run.ts";
import { type DemoState, workersPicture } from "./workers-view.ts";

/** Shows eight workers, and kills two of them. Uses a PostgreSQL server of its own, or a new database of the given server. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const givenUrl = databaseUrl(invocation);
  return io.interruptible(async (signal) => {
    try {
      const program = givenUrl === undefined ? await postgresProgram(invocation, signal) : undefined;
      output.notify({ code: "demo_starts", message: "Starting a database and eight workers." });
      const folder = mkdtempSync(join(tmpdir(), "bonsai-workers-"));
      // Under root, the server has another user.
      chmodSync(folder, 0o755);
      const guardian = new Guardian(folder);
      const options = { folder, env: io.env, guardian, signal, ...screen(invocation) };
      const work = (url: string) => runWorkers({ ...options, url });
      const running =
        program === undefined
          ? inNewDatabase(givenUrl!, output, work)
          : startServer(program, options).then(work);
      // If Ctrl-C also ended the server, the signal is aborted after this wait.
      const report = await running.finally(() => guardian.end());
      if (output.wantsJson) output.json({ event: "ended", ...report });
      else output.lines(summary(report, invocation));
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: "Stopped. The demo removed its processes and files." });
      return ExitCode.cancelled;
    }
  });
}

/** Creates a database for the work and drops it at the end. No table of the user changes. */
async function inNewDatabase(
  serverUrl: string,
  output: Invocation["output"],
  work: (url: string) => Promise<DemoReport>,
): Promise<DemoReport> {
  const { databaseStatus, openPool } = await import("@bonsai-agent/postgres");
  const pool = openPool(serverUrl, { max: 1 });
  const name = `bonsai_demo_${crypto.randomUUID().slice(0, 8)}`;
  const url = new URL(serverUrl);
  url.pathname = name;
  try {
    // Fails without a connection. Its errors have no connection string.
    await databaseStatus(pool);
    await pool.query(`create database ${name}`).catch(({ code }: { code?: string }) => {
      throw new BonsaiError({
        code: "demo_database_refused",
        message: `Could not create a database for the demo on this server (${code}). Your sessions are unchanged.`,
        hint: "Give a role that may create databases, or no --database.",
      });
    });
    return await work(url.href).finally(() =>
      pool.query(`drop database ${name} with (force)`).catch(() => {
        output.notify({ code: "demo_database_left", message: `Could not drop the database ${name}.` });
      }),
    );
  } finally {
    await pool.end();
  }
}

/** Shows a picture that changes on a terminal, and events elsewhere. */
function screen({ io: { stdout, env }, output }: Invocation) {
  const isLive = stdout.isTTY === true && env.TERM !== "dumb" && !output.wantsJson;
  let shown = 0;
  return {
    onEvent: (event: DemoEvent) => {
      if (output.wantsJson) output.json(event);
      else if (!isLive) output.lines(paragraph(event.text, output.width));
    },
    onState: (state: DemoState) => {
      if (!isLive) return;
      const { columns: width = output.width, rows = 24 } = stdout;
      const lines = workersPicture(state, { width, height: rows - 1 });
      // The terminal shows the change at once.
      stdout.write(`\u001b[?2026h${shown === 0 ? "" : `\u001b[${shown}A\u001b[J`}`);
      output.lines(lines);
      stdout.write("\u001b[?2026l");
      shown = lines.length;
    },
  };
}

function summary(report: DemoReport, { io, output: { width } }: Invocation): Line[] {
  const { ms, sessions, commands, continuations } = report;
  const result = `All ${sessions} sessions are done after ${duration(ms)}, though ${continuations.length} workers were killed.`;
  const text = `Each of the ${commands} commands ran once, and no stored entry is lost. After each kill, the model learned that its last command may have run. It read a log before it continued.`;
  const words = ["database init", "worker", 'enqueue "PROMPT"'];
  return [
    [],
    ...paragraph(result, width, ["bold", "green"]),
    ...paragraph(text, width),
    [],
    ...paragraph("The same on your own server, with workers on any number of machines:", width),
    ...words.map((each) => [span(`  ${calledAs(io)} ${each} --database URL`, "cyan")]),
  ];
}
