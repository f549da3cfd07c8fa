import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseStatus, openPool, sharedSessions, sharedStoreOf } from "../src/index.ts";
import { sessionJobs } from "../src/jobs.ts";
import { type TestDatabase, testDatabase, userMessage } from "./test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await sessionJobs({ pool: database.pool, sessions: database.host("owner") }).init();
  await database.pool.query(guideStatements("Roles"));
});
afterAll(() => database.stop());

/** The statements of a heading in the guide. */
function guideStatements(heading: string): string {
  const guide = readFileSync(new URL("../../../docs/shared-sessions.md", import.meta.url), "utf8");
  const section = guide.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return [...section.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, statements]) => statements).join("\n");
}

test("no error and no printed object contains the password", async () => {
  const secret = "s3cret-Passw0rd";
  const pool = openPool(`postgres://nobody:${secret}@127.0.0.1:1/none`);
  const failure = await databaseStatus(pool).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "database_failed" });
  const invalid = [`postgres//x:${secret}@y`, `postgres://x:${secret}@y:nonsense/`].map((url) => {
    try {
      return openPool(url);
    } catch (error) {
      return error;
    }
  });
  const role = `create role reader login password '${secret}'`;
  await database.pool.query(role);
  const denied = await openPool(database.server.url.replace("bonsai@", `reader:${secret}@`))
    .query("select 1 from bonsai.sessions")
    .catch(() => databaseStatus(openPool(database.server.url.replace("bonsai@", `reader:${secret}@`))))
    .catch((error: unknown) => error);
  expect(denied).toMatchObject({ code: "database_failed", message: expect.stringContaining("denied") });
  for (const printed of [failure, pool, ...invalid, denied]) {
    expect(inspect(printed, { depth: 8 })).not.toContain(secret);
    expect(String((printed as Error).stack)).not.toContain(secret);
  }
});

/** Another role of the same database. */
function openAs(role: string) {
  const pool = openPool(database.server.url.replace("bonsai@", `${role}@`), { max: 4 });
  const folder = mkdtempSync(join(tmpdir(), `${role}-`));
  return { pool, sessions: sharedSessions({ pool, owner: role, leaseMs: 2_000, folder }) };
}

test("the guide's rights are enough for a worker, and for no change of the tables", async () => {
  await database.pool.query("create role worker login in role bonsai_worker");
  await database.pool.query("create role host login in role bonsai_host");
  const { pool, sessions } = openAs("worker");
  const jobs = sessionJobs({ pool, sessions, onError: (error) => errors.push(error.message) });
  const errors: string[] = [];
  const session = await sessions.create({ cwd: "/work" });
  session.close();
  await sessions.settled();
  const cancelled = await jobs.enqueue({ sessionId: session.id, prompt: "never" });
  await jobs.cancel(cancelled);
  await jobs.enqueue({ sessionId: session.id, prompt: "go" });
  const worker = sessionJobs({ pool, sessions, onError: (error) => errors.push(error.message) });
  await worker.work({
    concurrency: 1,
    run: async ({ prompt }, { session: opened, promptAppended }) => {
      opened.append(userMessage(prompt));
      promptAppended();
      return { status: "done" };
    },
  });
  const states = async () => (await jobs.list()).map(({ state }) => state);
  await expect.poll(states, { timeout: 20_000 }).toEqual(["completed", "cancelled"]);
  const supervised = async () =>
    (
      await database.pool.query(
        "select monitor_on, maintain_on from bonsai_jobs.queue where name = 'prompts'",
      )
    ).rows[0];
  await expect
    .poll(supervised, { timeout: 20_000 })
    .toEqual({ monitor_on: expect.any(Date), maintain_on: expect.any(Date) });
  await worker.stop();
  await jobs.stop();
  expect(errors).toEqual([]);
  for (const statement of ["drop table bonsai.texts", "create table bonsai.more ()", "truncate bonsai.calls"])
    await expect(pool.query(statement)).rejects.toThrow(/denied|must be owner/);
  const host = openAs("host");
  await expect(
    sessionJobs(host).enqueue({ sessionId: session.id, prompt: "not allowed" }),
  ).rejects.toMatchObject({ code: "database_failed", message: expect.stringContaining("denied") });
  await Promise.all([pool.end(), host.pool.end()]);
});

test("with the guide's roles and policies, a tenant sees and changes only its own sessions", async () => {
  await database.pool.query(
    "create role acme login in role bonsai_host; create role other login in role bonsai_host",
  );
  await database.pool.query(guideStatements("Tenants"));
  const [acme, other] = [openAs("acme"), openAs("other")];
  const session = await acme.sessions.create({ cwd: "/tenant" });
  session.append(userMessage("zanzibar"));
  session.close();
  await acme.sessions.settled();
  const again = await acme.sessions.open(session.id);
  again.append(userMessage("more"));
  again.close();
  await acme.sessions.settled();
  expect(await acme.sessions.search("zanzibar")).toHaveLength(1);
  expect(await other.sessions.list()).toEqual([]);
  expect(await other.sessions.search("zanzibar")).toEqual([]);
  const drafted = await acme.sessions.open(session.id);
  const request = { kind: "history", prompt: { system: "", user: "zanzibar" }, maxSummaryTokens: 1 } as const;
  void sharedStoreOf(drafted)!.drafts.ask({ ...request, model: "a/b" }, new AbortController().signal);
  const drafts = (pool: typeof acme.pool) =>
    pool.query("select 1 from bonsai.drafts").then(({ rows }) => rows);
  await expect.poll(() => drafts(acme.pool), { interval: 20 }).toHaveLength(1);
  expect(await drafts(other.pool)).toEqual([]);
  drafted.close();
  await acme.sessions.settled();
  await expect(other.sessions.open(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  await expect(other.sessions.delete(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  await expect(other.sessions.create({ cwd: "/tenant", id: session.id })).rejects.toMatchObject({
    code: "session_exists",
  });
  await expect(databaseStatus(other.pool)).resolves.toMatchObject({ sessions: 0 });
  await expect(other.pool.query("alter table bonsai.sessions disable row level security")).rejects.toThrow();
  await Promise.all([acme.pool.end(), other.pool.end()]);
});
