import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPool, sharedSessions } from "@bonsai-agent/postgres";
import { type PostgresServer, startPostgres } from "@bonsai-agent/postgres-server";
import { createSession, openSession } from "@bonsai-agent/session";
import { afterAll, beforeAll, expect, test } from "vitest";
import { says } from "./call/agent-project.ts";
import { runCli } from "./run-cli.ts";

let folder: string;
let server: PostgresServer;
let env: Record<string, string>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "shared-"));
  chmodSync(folder, 0o755);
  server = await startPostgres({
    folder: join(folder, "server"),
    settings: { fsync: "off" },
  });
  const home = join(folder, "home");
  mkdirSync(home);
  const scenario = join(folder, "scenario.json");
  writeFileSync(scenario, JSON.stringify(says("A short answer.")));
  writeFileSync(
    join(home, "settings.json"),
    JSON.stringify({ model: `scripted/${scenario}`, titles: false }),
  );
  env = { BONSAI_HOME: home, BONSAI_DATABASE: server.url };
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const bonsai = (...argv: string[]) => runCli(argv, { env, cwd: folder });
const json = async (...argv: string[]) => {
  const { code, stdout, stderr } = await bonsai(...argv, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

test("a session is pushed, continued, listed and pulled", async () => {
  const { code, stderr } = await bonsai("jobs");
  expect([code, stderr]).toEqual([1, expect.stringContaining("bonsai database init")]);
  expect(await json("database", "init")).toEqual({ from: 0, to: 2 });
  const file = join(folder, "local.jsonl");
  const local = createSession({ cwd: folder, file });
  local.append({ type: "message", message: { role: "user", content: "hello", timestamp: 1 } });
  local.close();
  expect(await json("session", "push", file)).toMatchObject({ id: local.id, isBranch: false });

  const answer = await bonsai("-p", "--session", local.id.slice(0, 8), "and again");
  expect(answer).toMatchObject({ code: 0, stdout: "A short answer.\n" });
  expect(await json("session", "list")).toMatchObject([{ id: local.id, firstWords: "hello" }]);
  await json("session", "pull", local.id, "pulled.jsonl");
  const pulled = readFileSync(join(folder, "pulled.jsonl"), "utf8");
  expect(pulled.startsWith(readFileSync(file, "utf8"))).toBe(true);
  expect(
    openSession(join(folder, "pulled.jsonl"))
      .projection()
      .items.map(({ message }) => message.role),
  ).toEqual(["user", "user", "assistant"]);
  expect(await json("database", "status")).toMatchObject({ sessions: 1, leased: 0, version: 2 });
});

test("a .bonsai file is imported into the database, byte for byte", async () => {
  await bonsai("database", "init");
  const file = join(folder, "carried.jsonl");
  const local = createSession({ cwd: folder, file });
  local.append({ type: "message", message: { role: "user", content: "hello", timestamp: 1 } });
  local.close();
  await json("session", "export", file, "carried.bonsai", "--no-redact");
  const importInto = () => json("session", "import", "carried.bonsai", "--database", server.url);
  expect(await importInto()).toMatchObject({ id: local.id, outcome: "imported" });
  expect(await importInto()).toMatchObject({ outcome: "present" });
  await json("session", "pull", local.id, "carried-back.jsonl");
  expect(readFileSync(join(folder, "carried-back.jsonl")).equals(readFileSync(file))).toBe(true);
});

test("a worker does queued prompts in order and drains when it is stopped", async () => {
  await bonsai("database", "init");
  const { sessionId } = await json("enqueue", "first");
  await json("enqueue", sessionId, "second");
  const stop = new AbortController();
  const worker = runCli(["worker", "--concurrency", "2", "--json"], {
    env,
    cwd: folder,
    signal: stop.signal,
  });
  const outcomes = async () =>
    (await json("jobs")).map(({ outcome }: { outcome?: { status: string } }) => outcome?.status);
  await expect.poll(outcomes, { timeout: 30_000, interval: 300 }).toEqual(["done", "done"]);
  stop.abort();
  expect((await worker).code).toBe(0);
  await json("session", "pull", sessionId, "worked.jsonl");
  const { items } = openSession(join(folder, "worked.jsonl")).projection();
  const said = items.map(({ message }) => [
    message.role,
    JSON.stringify((message as { content: unknown }).content),
  ]);
  expect(said.map(([role]) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(said.map(([, text]) => text).join()).toMatch(/first.*second/);
});

test("search and the list of sessions read the database", async () => {
  const pool = openPool(server.url);
  const sessions = sharedSessions({ pool, owner: "writer", folder: join(folder, "writer") });
  const session = await sessions.create({ cwd: "/elsewhere" });
  session.append({ type: "message", message: { role: "user", content: "the wisteria", timestamp: 1 } });
  session.close();
  await sessions.settled();
  await pool.end();
  expect((await bonsai("search", "wisteria")).stdout).toMatch(
    new RegExp(`${session.id.slice(0, 8)} .* user +the wisteria\\s+1 hit`),
  );
  expect((await bonsai("search", "nothing-like-this")).stdout).toContain("No matches");
  expect(await bonsai("search", "--regex", "w.st")).toMatchObject({ code: 2 });
  expect((await bonsai("session", "list", "--cwd", "/elsewhere")).stdout).toContain("1 session");
  expect((await bonsai("session", "list", "--cwd", "/nowhere")).stdout).toContain("no such sessions");
  const { stderr } = await bonsai("session", "show", session.id);
  expect(stderr).toContain(`bonsai session pull ${session.id}`);
});

test("no output contains the password of the database", async () => {
  const url = "postgres://someone:s3cret-Passw0rd@127.0.0.1:1/none";
  for (const argv of [
    ["database", "status"],
    ["jobs"],
    ["enqueue", "x"],
    ["session", "list"],
    ["-p", "x"],
    ["worker"],
  ]) {
    const { code, stdout, stderr } = await bonsai(...argv, "--database", url);
    expect([argv, code]).toEqual([argv, 1]);
    expect(stdout + stderr).not.toContain("s3cret");
  }
});
