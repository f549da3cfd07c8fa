import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { ImportedReport } from "../src/call/session-import.ts";
import type { SessionRow } from "../src/commands/sessions.ts";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const codex = [
  {
    timestamp: "2026-11-20T09:00:00.000Z",
    type: "session_meta",
    payload: { id: "c0dex", cwd: "/home/dev/shop" },
  },
  {
    timestamp: "2026-11-20T09:00:01.000Z",
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text: "Rename the field" }] },
  },
  {
    timestamp: "2026-11-20T09:00:02.000Z",
    type: "response_item",
    payload: { type: "message", role: "assistant", content: [{ type: "output_text", text: "Renamed." }] },
  },
];

test("bonsai import makes a session of a Codex transcript", async () => {
  const file = join(testFolder(), "session.jsonl");
  const report = await jsonOf<ImportedReport>(["import", writeLines(codex), "-o", file]);
  expect(report).toMatchObject({ file, format: "codex", program: "Codex", cwd: "/home/dev/shop" });
  const context = await jsonOf<{ role: string }[]>(["context", file]);
  expect(context.map((item) => item.role)).toEqual(["user", "assistant"]);
});

test("an imported session is recorded by default", async () => {
  const env = { BONSAI_HOME: testFolder() };
  const { code, stdout } = await runCli(["import", writeLines(codex)], { env });
  expect(code).toBe(0);
  expect(stdout).toContain("from Codex");
  expect(await jsonOf<unknown[]>(["sessions"], { env })).toHaveLength(1);
});

test("a session file is imported with all branches, but not twice", async () => {
  const env = { BONSAI_HOME: testFolder() };
  const origin = writeLines(sampleLines());
  const report = await jsonOf<ImportedReport>(["import", origin], { env });
  const entries = (file: string) => readFileSync(file, "utf8").split("\n").slice(1);
  expect(entries(report.file)).toEqual(entries(origin));
  expect(report).toMatchObject({ format: "session", entryCount: entries(origin).length - 1 });
  const [row] = await jsonOf<SessionRow[]>(["sessions"], { env });
  expect(row).toMatchObject({ id: report.id, parentSession: origin });
  const listed = await runCli(["sessions"], { env, columns: 110 });
  expect(listed.stdout).toContain(`fork of ${basename(origin)}`);
  const again = await runCli(["import", report.file, "--json"], { env });
  expect(JSON.parse(again.stderr).error.code).toBe("transcript_is_session");
});

test("the damage of an imported session file is reported", async () => {
  const env = { BONSAI_HOME: testFolder() };
  const origin = writeLines(sampleLines());
  appendFileSync(origin, '{"type":"message","id":"cut');
  const { notices } = await jsonOf<ImportedReport>(["import", origin], { env });
  expect(notices.map(({ kind }) => kind)).toEqual(["torn_line"]);
});

test("a file that is no transcript is refused", async () => {
  const file = join(testFolder(), "notes.txt");
  writeFileSync(file, "just words\n");
  const { code, stderr } = await runCli(["import", file, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error.code).toBe("transcript_unknown");
});
