import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  findTranscripts,
  importTranscript,
  readTranscriptHeads,
  type TranscriptHead,
} from "@bonsai-agent/transcripts";
import { expect, test } from "vitest";
import { folder } from "./transcript-file.ts";

const fixtures = join(import.meta.dirname, "fixtures");

function home(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(folder, "home-"));
  for (const [to, name] of Object.entries(files)) {
    mkdirSync(dirname(join(path, to)), { recursive: true });
    copyFileSync(join(fixtures, name), join(path, to));
  }
  return path;
}

const heads = (path: string): TranscriptHead[] =>
  findTranscripts({ HOME: path }).flatMap((file) => readTranscriptHeads(file));

test("finds the transcripts of each agent in their usual places, without those of sub-agents", () => {
  const path = home({
    ".claude/projects/-p/1.jsonl": "claude-code-compacted.jsonl",
    ".claude/projects/-p/agent-2.jsonl": "claude-code-agent.jsonl",
    ".codex/sessions/2026/02/03/rollout-1.jsonl": "codex-compacted.jsonl",
    ".gemini/tmp/h/chats/session-1.jsonl": "gemini.jsonl",
    ".gemini/tmp/h/chats/session-2.json": "gemini-old.json",
    ".qwen/projects/-p/chats/1.jsonl": "qwen.jsonl",
  });
  cpSync(join(fixtures, "opencode-storage"), join(path, ".local/share/opencode/storage"), {
    recursive: true,
  });
  const rows = heads(path).map(({ agent, id, cwd, title }) => [agent, id, cwd, title]);
  expect(rows.sort()).toEqual([
    ["claude-code", "3f0c2a10-0000-4000-8000-000000000001", "/home/ana/shop", "store rename"],
    ["codex", "0199a000-0000-7000-8000-00000000000a", "/srv/mill", "Build the wheel."],
    ["gemini", "7c1d0000-0000-4000-8000-00000000000d", "/home/cy/bees", "Counting bees"],
    ["gemini", "old-session", undefined, "Feed the bees."],
    ["opencode", "ses_1", "/home/bo/boat", "Sail"],
    ["qwen", "q-1", "/home/di/kiln", "Kiln day"],
  ]);
});

test("environment variables move the places", () => {
  const path = home({ "elsewhere/sessions/2026/02/03/rollout-1.jsonl": "codex-compacted.jsonl" });
  const files = findTranscripts({ HOME: "/nonexistent", CODEX_HOME: join(path, "elsewhere") });
  expect(files.map(({ agent }) => agent)).toEqual(["codex"]);
});

test("the facts of a large transcript come from its ends", () => {
  const record = (at: number, text: string) => ({
    ...{
      type: "user",
      uuid: `u${at}`,
      parentUuid: at === 0 ? null : `u${at - 1}`,
      sessionId: "s",
      cwd: "/p",
    },
    ...{ timestamp: "2026-10-01T10:00:00.000Z", message: { role: "user", content: text } },
  });
  const rows = Array.from({ length: 200 }, (_, at) => record(at, at === 0 ? "Begin." : "x".repeat(5_000)));
  const lines = [...rows, { type: "custom-title", customTitle: "The end" }].map((row) => JSON.stringify(row));
  const path = home({ ".claude/projects/-p/1.jsonl": "claude-code-basic.jsonl" });
  writeFileSync(join(path, ".claude/projects/-p/1.jsonl"), `${lines.join("\n")}\n`);
  expect(heads(path)).toMatchObject([{ id: "s", cwd: "/p", title: "The end" }]);
});

function database(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
    INSERT INTO session VALUES ('ses_a', NULL, '/srv/a', 'Tar', '1.2.0', 10, 20), ('ses_b', NULL, '/srv/b', NULL, '1.2.0', 11, 30),
      ('ses_c', 'ses_a', '/srv/a', 'Sub-agent', '1.2.0', 12, 40);
    INSERT INTO message VALUES ('m1', 'ses_a', 10, '{"role":"user"}'), ('m2', 'ses_a', 11, '{"role":"assistant"}'), ('m3', 'ses_a', 12, 'broken');
    INSERT INTO part VALUES ('p2', 'm2', 'ses_a', '{"type":"text","text":"Tarred."}'), ('p1', 'm1', 'ses_a', '{"type":"text","text":"Tar it."}');
  `);
  db.close();
}

test("reads the sessions of OpenCode's database, and writes no file beside it", () => {
  const path = home({});
  const data = join(path, ".local/share/opencode");
  mkdirSync(data, { recursive: true });
  const file = join(data, "opencode.db");
  database(file);
  expect(heads(path)).toMatchObject([
    { agent: "opencode", id: "ses_b", cwd: "/srv/b", modifiedMs: 30 },
    { agent: "opencode", id: "ses_a", cwd: "/srv/a", title: "Tar", startedMs: 10 },
  ]);
  const { entries, report } = importTranscript({ path: file, sessionId: "ses_a" });
  const texts = entries.flatMap((entry) => (entry.type === "message" ? [JSON.stringify(entry.message)] : []));
  expect(texts.join()).toMatch(/Tar it\..*Tarred\./);
  expect(report).toMatchObject({ format: "opencode-database", sessionId: "ses_a" });
  expect(() => importTranscript({ path: file })).toThrow("contains several sessions");
  expect(() => importTranscript({ path: file, sessionId: "ses_x" })).toThrow("contains no session ses_x");
  expect(readdirSync(data)).toEqual(["opencode.db"]);
});

test("another SQLite file is an unknown transcript", () => {
  const file = join(mkdtempSync(join(folder, "db-")), "other.db");
  new DatabaseSync(file).exec("CREATE TABLE t (a)");
  expect(() => importTranscript({ path: file })).toThrow("is not a transcript of a known program");
});
