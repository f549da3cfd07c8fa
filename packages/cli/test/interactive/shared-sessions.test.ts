import { chmodSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initDatabase, openPool, type SharedSessions, sharedSessions } from "@bonsai-agent/postgres";
import { type PostgresServer, startPostgres } from "@bonsai-agent/postgres-server";
import { createSession } from "@bonsai-agent/session";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { testFolder } from "../call/sample-session.ts";
import { command, deleteChosen, opened, renameChosen, restoreDeleted, say } from "./command-setup.ts";
import { type OpenedInteractive, openInteractive } from "./harness.ts";

let server: PostgresServer;
let pool: ReturnType<typeof openPool>;
let sessions: SharedSessions;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "shared-"));
  chmodSync(folder, 0o755);
  server = await startPostgres({ folder: join(folder, "server"), settings: { fsync: "off" } });
  pool = openPool(server.url);
  await initDatabase(pool);
  sessions = sharedSessions({ pool, owner: "elsewhere", folder: join(folder, "elsewhere") });
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

const newProject = () => agentProject(says("Good."));
const openedShared = (project = newProject(), ...argv: string[]) =>
  opened({ project, argv: ["--database", server.url, ...argv] });
const listed = async ({ project }: OpenedInteractive) =>
  (await sessions.list({ cwd: project.cwd })).reverse();

test("/fork, /clone and /new of a shared session make shared sessions, and an unused one is deleted", async () => {
  const ui = await openedShared();
  await say(ui, "about animals");
  command(ui, "/fork");
  await ui.terminal.until("Fork from which message?");
  ui.terminal.press("enter");
  await ui.terminal.until("This is a new session");
  ui.terminal.press("enter");
  await ui.terminal.until("Good.");
  command(ui, "/clone");
  await ui.terminal.until("This is a copy");
  command(ui, "/new");
  await ui.terminal.until((screen) => !screen.includes("about animals"));
  expect(await listed(ui)).toHaveLength(4);
  await ui.end();
  const [first, fork, copy, ...others] = await listed(ui);
  expect(others).toEqual([]);
  expect([first, fork, copy]).toMatchObject([
    { firstWords: "about animals" },
    { firstWords: "about animals", parentSession: first!.id },
    { firstWords: "about animals", parentSession: fork!.id },
  ]);
  expect(readdirSync(ui.project.home)).not.toContain("sessions");
});

test("/resume finds, renames, deletes and restores shared sessions", async () => {
  const first = await openedShared();
  await say(first, "about animals");
  await say(first, "the zebra too");
  await first.end();
  const ui = await openedShared(first.project);
  await say(ui, "about plants");
  command(ui, "/resume");
  expect(await ui.terminal.until("1/2")).toContain("about plants ●");
  ui.terminal.type("zebra");
  await ui.terminal.until(/› about animals found in text/);
  await renameChosen(ui, "Stripes");
  expect(await deleteChosen(ui)).toContain("All hosts lose this session");
  expect((await listed(ui)).map(({ firstWords }) => firstWords)).toEqual(["about plants"]);
  await restoreDeleted(ui);
  await ui.terminal.until("› Stripes");
  ui.terminal.press("enter");
  await ui.terminal.until((screen) => screen.includes("the zebra too") && !screen.includes("Sessions in"));
  const openNames = async () =>
    (await listed(ui)).flatMap(({ name, owner }) => (owner === undefined ? [] : [name]));
  await expect.poll(openNames).toEqual(["Stripes"]);
});

test("-c waits for the folder's latest session while another process has it open", async () => {
  const project = newProject();
  const first = await openedShared(project);
  await say(first, "about animals");
  const second = openInteractive({ project, argv: ["--database", server.url, "-c"] });
  await second.terminal.until(/has the session \S+\s+open\.\s+Waiting\s+until the session is free/);
  await say(first, "and plants");
  await first.end();
  await second.terminal.until("and plants");
});

test("a session that another process took is reported at once, and /resume opens it again", async () => {
  const ui = await openedShared();
  await say(ui, "about animals");
  const { id } = (await listed(ui))[0]!;
  // As after a pause: the lease is over.
  await pool.query("update bonsai.sessions set lease_until = clock_timestamp() where id = $1", [id]);
  const taken = await sessions.open(id);
  taken.append({ type: "message", message: { role: "user", content: "by another process", timestamp: 1 } });
  await taken.durable();
  taken.close();
  await sessions.settled();
  command(ui, "/name lost");
  await ui.terminal.until(/Another process opened or deleted[\s\S]*session push/);
  ui.terminal.press("ctrl+u");
  command(ui, `/resume ${id}`);
  await ui.terminal.until("by another process");
});

test("a user can quit while the database does not answer", async () => {
  const ui = await openedShared();
  await say(ui, "about animals");
  const { id } = (await listed(ui))[0]!;
  const connection = await pool.connect();
  await connection.query("begin; lock table bonsai.sessions");
  command(ui, "/name away");
  await ui.terminal.until("Session name: “away”.");
  ui.terminal.press("ctrl+d");
  await ui.terminal.until("Storing the session in the database. Press Ctrl-D to quit without it.");
  await expect
    .poll(() => {
      ui.terminal.press("ctrl+d");
      return ui.printed();
    })
    .toMatch(/The database lacks the latest entries\. `bonsai -r\s+\S+` on this machine stores them/);
  await ui.ended;
  await connection.query("rollback");
  connection.release();
  await expect.poll(async () => (await listed(ui))[0]).toMatchObject({ id, name: "away" });
});

test("a file opens as a file, beside the database", async () => {
  const project = newProject();
  const file = join(testFolder(), "local.jsonl");
  const local = createSession({ cwd: project.cwd, file });
  local.append({ type: "message", message: { role: "user", content: "in a file", timestamp: 1 } });
  local.close();
  const ui = await openedShared(project, "--session", file);
  await ui.terminal.until("in a file");
  expect(await listed(ui)).toEqual([]);
});
