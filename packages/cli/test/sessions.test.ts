import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionRow } from "../src/commands/sessions.ts";
import type { SessionReport } from "../src/views/session-report.ts";
import { header, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

function homeWithSessions(): { BONSAI_HOME: string } {
  const home = testFolder();
  const folder = join(home, "sessions", "-home-dev-shop");
  mkdirSync(folder, { recursive: true });
  writeLines(sampleLines(), join(folder, "one.jsonl"));
  const other = {
    ...header,
    id: "0ther000-0000-4000-8000-000000000000",
    timestamp: "2026-11-19T09:00:00.000Z",
  };
  const name = { type: "session_info", id: "1", parentId: null, timestamp: other.timestamp, name: "Named" };
  writeLines([other, name], join(folder, "two.jsonl"));
  return { BONSAI_HOME: home };
}

test("bonsai sessions lists the latest activity first", async () => {
  const env = homeWithSessions();
  const rows = await jsonOf<SessionRow[]>(["sessions"], { env });
  expect(rows.map((row) => [row.id.slice(0, 5), row.name])).toEqual([
    ["5e551", null],
    ["0ther", "Named"],
  ]);
  for (const row of rows) {
    expect(Object.keys(row)).toEqual([
      "id",
      "file",
      "cwd",
      "name",
      "firstMessage",
      "parentSession",
      "summary",
      "fileCount",
      "added",
      "removed",
      "files",
      "lastActivity",
      "sizeBytes",
    ]);
  }
  expect(await jsonOf<SessionRow[]>(["sessions", "--limit", "1"], { env })).toHaveLength(1);
  expect(await jsonOf<SessionRow[]>(["sessions", "--cwd", "/home/dev/shop"], { env })).toHaveLength(2);
  expect(await jsonOf<SessionRow[]>(["sessions", "--cwd", "/elsewhere"], { env })).toEqual([]);
  const { stdout } = await runCli(["sessions"], { env, columns: 60 });
  await expect(stdout).toMatchFileSnapshot("golden/sessions-60.txt");
});

test("a listed session shows its topic and its changed files", async () => {
  const env = homeWithSessions();
  const data = {
    summary: "The totals are right now; the tests pass.",
    fileCount: 2,
    added: 1234,
    removed: 5,
    files: [{ path: "src/cart.ts", added: 1234, removed: 5 }],
  };
  const timestamp = "2026-11-20T10:00:00.000Z";
  const custom = {
    type: "custom",
    id: "d1",
    parentId: null,
    timestamp,
    customType: "bonsai.session_digest",
    data,
  };
  const folder = join(env.BONSAI_HOME, "sessions", "-home-dev-shop");
  const session = { ...header, id: "d1gest00-0000-4000-8000-000000000000" };
  writeLines([session, custom], join(folder, "three.jsonl"));
  const rows = await jsonOf<SessionRow[]>(["sessions"], { env });
  expect(rows.find(({ id }) => id === session.id)).toMatchObject(data);
  expect(rows.find(({ id }) => id !== session.id)).toMatchObject({ summary: null, fileCount: 0, files: [] });
  const { stdout } = await runCli(["sessions"], { env, columns: 110 });
  await expect(stdout).toMatchFileSnapshot("golden/sessions-digest-110.txt");
  const narrow = await runCli(["sessions"], { env, columns: 50 });
  for (const line of narrow.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(50);
});

test("an empty home says how to get a session", async () => {
  const { code, stdout } = await runCli(["sessions"], { env: { BONSAI_HOME: testFolder() } });
  expect(code).toBe(0);
  expect(stdout).toContain("import");
});

test("a session is named by the beginning of its id", async () => {
  const env = homeWithSessions();
  expect((await jsonOf<SessionReport>(["show", "5e55"], { env })).entryCount).toBe(14);
  const missing = await runCli(["show", "ffff", "--json"], { env });
  expect(JSON.parse(missing.stderr).error.code).toBe("session_not_found");
});
