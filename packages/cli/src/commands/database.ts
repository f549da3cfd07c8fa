import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ListedJob } from "@bonsai-agent/postgres/jobs";
import { withDatabase } from "../call/database.ts";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { outputExists } from "../call/session-file.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { age, bytes, count, counted } from "../views/numbers.ts";
import { oneLine } from "../views/terminal-text.ts";

export function init(invocation: Invocation): Promise<undefined> {
  return withDatabase(invocation, async ({ pool, sessions }) => {
    const { initDatabase } = await import("@bonsai-agent/postgres");
    const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
    const versions = await initDatabase(pool);
    await sessionJobs({ pool, sessions }).init();
    invocation.output.result(versions, () => [
      versions.from === versions.to
        ? [`The database is up to date (version ${versions.to}).`]
        : [span(`The database is ready (version ${versions.to}).`, "green")],
    ]);
    return undefined;
  });
}

export function status(invocation: Invocation): Promise<undefined> {
  return withDatabase(invocation, async ({ pool }) => {
    const { databaseStatus } = await import("@bonsai-agent/postgres");
    const found = await databaseStatus(pool);
    invocation.output.result(found, () => {
      if (found.version === 0)
        return [["The database has no tables of Bonsai. Run ", span("bonsai database init", "cyan"), "."]];
      const isOld = found.version < found.wanted;
      return [
        [
          `PostgreSQL ${found.server}, tables of version ${found.version}${isOld ? ": run bonsai database init" : ""}`,
        ],
        [`${counted(found.sessions, "session")}, ${count(found.leased)} in use`],
        [
          `${bytes(found.bytes)} of sessions in ${bytes(found.storedBytes)}; ${bytes(found.databaseBytes)} with indexes`,
        ],
      ];
    });
    return undefined;
  });
}

export function enqueue(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const [session, prompt] = args.length === 1 ? [undefined, args[0]] : args;
  if (args.length > 2 || prompt === undefined || prompt.trim() === "")
    throw wrongUsage(
      "Give a session and a prompt, or a prompt for a new session.",
      'Write `bonsai enqueue SESSION "PROMPT"`.',
    );
  return withDatabase(invocation, async ({ pool, sessions }) => {
    const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
    const jobs = sessionJobs({ pool, sessions });
    try {
      const sessionId =
        session === undefined ? await newSession(sessions, io.cwd) : await sessions.find(session);
      const id = await jobs.enqueue({ sessionId, prompt });
      output.result({ id, sessionId }, () => [["Job ", span(id, "cyan"), ` for session ${sessionId}`]]);
    } finally {
      await jobs.stop();
    }
    return undefined;
  });
}

async function newSession(
  sessions: {
    create(options: { cwd: string }): Promise<{ id: string; close(): void }>;
    settled(): Promise<void>;
  },
  cwd: string,
): Promise<string> {
  const session = await sessions.create({ cwd });
  session.close();
  await sessions.settled();
  return session.id;
}

export function jobs(invocation: Invocation): Promise<undefined> {
  const { options, io, output } = invocation;
  return withDatabase(invocation, async ({ pool, sessions }) => {
    const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
    const queue = sessionJobs({ pool, sessions });
    try {
      if (typeof options.cancel === "string") await queue.cancel(options.cancel);
      const limit = typeof options.limit === "number" ? { limit: options.limit } : {};
      const listed = await queue.list(limit);
      output.result(listed, () => jobsView(listed, output.width, io.now()));
    } finally {
      await queue.stop();
    }
    return undefined;
  });
}

function jobsView(listed: readonly ListedJob[], width: number, nowMs: number): Iterable<Line> {
  if (listed.length === 0) return paragraph("No jobs.", width);
  const rows = listed.map((job): Line[] => [
    [span(job.id.slice(0, 8), "cyan")],
    [age(job.createdMs, nowMs)],
    [job.outcome?.status ?? (job.state === "created" ? "waiting" : job.state)],
    [job.sessionId.slice(0, 8)],
    [oneLine(job.prompt)],
  ]);
  return table(rows, { columns: [{}, {}, {}, {}, { flexible: true }], width });
}

export function push(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  return withDatabase(invocation, async ({ sessions }) => {
    const { sessionPath } = await import("../call/session-file.ts");
    const pushed = await sessions.push(sessionPath(args[0]!, { io, options: invocation.options }));
    output.result(pushed, () => [
      pushed.isBranch
        ? [`Added ${bytes(pushed.bytes)} as a branch to session `, span(pushed.id, "cyan")]
        : [`Pushed ${bytes(pushed.bytes)} as session `, span(pushed.id, "cyan")],
    ]);
    return undefined;
  });
}

export function pull(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  return withDatabase(invocation, async ({ sessions }) => {
    const id = await sessions.find(args[0]!);
    const file = await pulledFile(invocation, id);
    if (existsSync(file)) throw outputExists(file);
    await sessions.pull(id, file);
    output.result({ id, file }, () => [["Wrote ", span(file, "cyan")]]);
    return undefined;
  });

  async function pulledFile({ options }: Invocation, id: string): Promise<string> {
    const named = options.output ?? args[1];
    if (typeof named === "string") return resolve(io.cwd, named);
    const { newSessionFile } = await import("@bonsai-agent/session");
    const { sessionPlace } = await import("../call/session-file.ts");
    return newSessionFile({ id, cwd: io.cwd, now: new Date(io.now()), ...sessionPlace(invocation) });
  }
}
