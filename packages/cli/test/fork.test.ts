import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ForkReport } from "../src/commands/session-edit.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import type { SessionReport } from "../src/views/session-report.ts";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

test("bonsai fork starts a new session whose context is the same", async () => {
  const file = writeLines(sampleLines());
  const before = readFileSync(file);
  const copy = join(testFolder(), "fork.jsonl");
  const report = await jsonOf<ForkReport>(["fork", file, "cccc0007", "-o", copy]);
  expect(Object.keys(report)).toEqual(["id", "file", "parentSession", "leafId", "entryCount"]);
  expect(report).toMatchObject({ file: copy, parentSession: file });
  const ids = (items: ContextItem[]) => items.map((item) => item.entryId);
  expect(ids(await jsonOf(["context", copy]))).toEqual(ids(await jsonOf(["context", file])));
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("a fork's activity is its own: none is older than the fork", async () => {
  const env = { BONSAI_HOME: testFolder() };
  const { file } = await jsonOf<ForkReport>(["fork", writeLines(sampleLines()), "aaaa0004"], { env });
  const { createdAt, firstActivity, lastActivity } = await jsonOf<SessionReport>(["show", file]);
  expect([firstActivity, lastActivity]).toEqual([createdAt, createdAt]);
  const [listed] = await jsonOf<{ lastActivity: string }[]>(["sessions"], { env });
  expect(listed!.lastActivity).toBe(createdAt);
});

test("bonsai fork overwrites nothing", async () => {
  const file = writeLines(sampleLines());
  const { code, stderr } = await runCli(["fork", file, "cccc0007", "-o", file, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error.code).toBe("session_exists");
});

test("bonsai fork writes among the recorded sessions by default", async () => {
  const env = { BONSAI_HOME: testFolder() };
  const report = await jsonOf<ForkReport>(["fork", writeLines(sampleLines()), "aaaa0004"], { env });
  expect(report.file).toContain(join(env.BONSAI_HOME, "sessions", "-home-dev-shop"));
  expect((await runCli(["show", report.id.slice(0, 8)], { env })).code).toBe(0);
});
