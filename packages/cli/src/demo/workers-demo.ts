import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import { startPostgres } from "@bonsai-agent/postgres-server";
import { databaseUrl, openDatabaseAt } from "../call/database.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { calledAs } from "../call/paths.ts";
import { type Line, paragraph, span } from "../views/line.ts";
import { count, counted, duration, elapsed } from "../views/numbers.ts";
import { postgresFailed, postgresProgram } from "./postgres-program.ts";
import { WorkerProcesses } from "./worker-processes.ts";
import { type DemoEvent, type DemoReport, runWorkers } from "./workers-run.ts";
import { continuedText, type DemoState, workersPicture } from "./workers-view.ts";

/** Eight workers, of which two are killed, on a PostgreSQL server of their own or in a new database of the given server. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const url = databaseUrl(invocation);
  const screen = new DemoScreen(invocation);
  return io.interruptible(
    async (signal) => {
      try {
        const program = url === undefined ? await postgresProgram(invocation, signal) : undefined;
        if (url === undefined && program === undefined) {
          output.notify({ code: "postgres_declined", message: "Nothing was downloaded." });
          return ExitCode.cancelled;
        }
        const report = await inFolder(io, async (folder, processes) => {
          output.notify({ code: "demo_starts", message: "A database and eight workers start." });
          return url === undefined
            ? onOwnServer({ folder, program: program!, processes, signal, screen })
            : inOwnDatabase({ folder, url, processes, signal, screen });
        });
        screen.close();
        if (output.wantsJson) output.json({ event: "ended", ...report });
        else output.lines([...screen.picture, [], ...summary(report, invocation)]);
        return ExitCode.done;
      } catch (error) {
        // A signal that ended a child, too, is still to be handled.
        await turn();
        if (!signal.aborted) throw error;
        screen.close();
        output.notify({ code: "cancelled", message: "Stopped. Everything of the demo is removed." });
        return ExitCode.cancelled;
      } finally {
        screen.close();
      }
    },
    () => screen.close(),
  );
}

/** Runs work in a temporary folder. At its end, its processes end, and the folder is deleted. */
async function inFolder<Result>(
  io: CliIo,
  work: (folder: string, processes: WorkerProcesses) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-workers-"));
  // Under root, the server has another user.
  chmodSync(folder, 0o755);
  const processes = new WorkerProcesses(folder, io.env);
  try {
    return await work(folder, processes);
  } finally {
    await processes.end();
  }
}

interface Stage {
  folder: string;
  processes: WorkerProcesses;
  signal: AbortSignal;
  screen: DemoScreen;
}

async function onOwnServer({ program, ...stage }: Stage & { program: string }): Promise<DemoReport> {
  const { url } = await startPostgres({
    ...{ program, folder: join(stage.folder, "server"), password: crypto.randomUUID() },
    onSpawn: (pid) => stage.processes.guard(pid, "SIGQUIT"),
  }).catch((cause: unknown) => {
    throw postgresFailed(cause);
  });
  return onDatabase({ ...stage, url });
}

/** Uses a new database of the server, so that no table of the user changes. */
async function inOwnDatabase({ url, ...stage }: Stage & { url: string }): Promise<DemoReport> {
  const { openPool, databaseStatus } = await import("@bonsai-agent/postgres");
  const pool = openPool(url, { max: 1 });
  const name = `bonsai_demo_${crypto.randomUUID().slice(0, 8)}`;
  try {
    // Its errors have no connection string.
    await databaseStatus(pool);
    await pool.query(`create database ${name}`).catch((error: { code?: string }) => {
      throw notCreated(error.code ?? "");
    });
    const own = new URL(url);
    own.pathname = `/${name}`;
    try {
      return await onDatabase({ ...stage, url: own.href });
    } finally {
      await stage.processes.end();
      await pool.query(`drop database ${name} with (force)`);
    }
  } finally {
    await pool.end();
  }
}

function notCreated(code: string): BonsaiError {
  return new BonsaiError({
    code: "demo_database_refused",
    message: `Could not create a database for the demo on this server (${code}). Your sessions are unchanged.`,
    hint: "Give a role that may create databases, or no --database.",
  });
}

async function onDatabase({ url, ...stage }: Stage & { url: string }): Promise<DemoReport> {
  const { databaseStatus } = await import("@bonsai-agent/postgres");
  const { folder, screen } = stage;
  stage.signal.throwIfAborted();
  const database = await openDatabaseAt(url, {
    io: { ...screen.io, env: { BONSAI_HOME: folder } },
    options: {},
  });
  try {
    const server = `PostgreSQL ${(await databaseStatus(database.pool)).server.split(" ")[0]}`;
    return await runWorkers({
      ...{ ...stage, server, database: { ...database, url } },
      onEvent: (event) => screen.event(event),
      onState: (state) => screen.state(state),
    });
  } finally {
    await database.close().catch(() => {});
  }
}

const ENTER_SCREEN = "\u001b[?1049h\u001b[?25l";
const LEAVE_SCREEN = "\u001b[?25h\u001b[?1049l";
/** The terminal shows the lines between them at once. */
const [BEGIN_FRAME, END_FRAME] = ["\u001b[?2026h\u001b[H\u001b[J", "\u001b[?2026l"];
const DEFAULT_ROWS = 24;

/** A picture on a terminal; lines or JSON elsewhere. */
class DemoScreen {
  readonly io: CliIo;
  readonly #output: Invocation["output"];
  readonly #startMs = performance.now();
  readonly #isLive: boolean;
  /** The last one. */
  picture: readonly Line[] = [];
  #isOpen = false;

  constructor({ io, output }: Invocation) {
    this.io = io;
    this.#output = output;
    this.#isLive = io.stdout.isTTY === true && io.env.TERM !== "dumb" && !output.wantsJson;
  }

  event(event: DemoEvent): void {
    if (this.#output.wantsJson) this.#output.json(event);
    else if (!this.#isLive)
      this.#output.lines([[span(`${elapsed(performance.now() - this.#startMs)} `, "gray"), event.text]]);
  }

  state(state: DemoState): void {
    if (!this.#isLive) return;
    const { stdout } = this.io;
    const size = { width: stdout.columns ?? this.#output.width, height: (stdout.rows ?? DEFAULT_ROWS) - 1 };
    stdout.write(`${this.#isOpen ? "" : ENTER_SCREEN}${BEGIN_FRAME}`);
    this.#isOpen = true;
    this.picture = workersPicture(state, size);
    this.#output.lines(this.picture);
    stdout.write(END_FRAME);
  }

  close(): void {
    if (this.#isOpen) this.io.stdout.write(LEAVE_SCREEN);
    this.#isOpen = false;
  }
}

function summary(report: DemoReport, { io, output: { width } }: Invocation): Line[] {
  const { jobs, workers, ms, continuations, entries, commands, uncertain } = report;
  const bonsai = calledAs(io);
  return [
    [
      span(
        `${counted(jobs, "job")} done by ${workers} workers in ${duration(ms)}. ${continuations.length} workers were killed.`,
        ["bold", "green"],
      ),
    ],
    ...[
      ...continuations.map((each) => `${continuedText(each)}.`),
      `Nothing is lost: the database has all ${count(entries)} entries that the workers stored. Each of the ${count(commands)} commands ran once.`,
      `Commands that had started at a kill: ${uncertain}. The model learned that they may have run, and read the log before it continued.`,
    ].flatMap((text) => paragraph(text, width)),
    [],
    ...paragraph("The same on your own server, from any number of hosts:", width),
    ...["database init", "worker", 'enqueue "PROMPT"'].map((words) => [
      span(`  ${bonsai} ${words} --database URL`, "cyan"),
    ]),
  ];
}
