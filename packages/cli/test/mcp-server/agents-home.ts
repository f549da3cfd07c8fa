import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { testFolder } from "../call/sample-session.ts";

type Row = Record<string, unknown>;

const time = (second: number) => `2026-10-01T10:00:${String(second).padStart(2, "0")}.000Z`;

export function linesOf(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows of a transcript of Claude Code: texts of the user and of the agent in turn. */
export function claudeRows({ id, cwd, texts }: { id: string; cwd: string; texts: readonly string[] }): Row[] {
  return texts.map((text, at) => {
    const role = at % 2 === 0 ? "user" : "assistant";
    const message =
      role === "user"
        ? { role, content: text }
        : { role, id: `m${at}`, model: "claude-sonnet-4-5", content: [{ type: "text", text }] };
    const parentUuid = at === 0 ? null : `u${at - 1}`;
    return { type: role, uuid: `u${at}`, parentUuid, sessionId: id, cwd, timestamp: time(at), message };
  });
}

/** The rows that Claude Code adds at a compaction. */
export function claudeCompaction(rows: readonly Row[], summary: string): Row[] {
  const { uuid, sessionId, cwd } = rows.at(-1)!;
  const common = { sessionId, cwd, timestamp: time(rows.length) };
  return [
    {
      ...{ ...common, type: "system", subtype: "compact_boundary", uuid: "cb", parentUuid: null },
      ...{ logicalParentUuid: uuid, content: "Conversation compacted" },
      compactMetadata: { trigger: "auto", preTokens: 100_000 },
    },
    {
      ...{ ...common, type: "user", uuid: "cs", parentUuid: "cb", isCompactSummary: true },
      message: { role: "user", content: summary },
    },
  ];
}

export interface AgentsHome {
  /** The user's home folder. */
  folder: string;
  env: Record<string, string>;
  /** A project folder, and the id of Claude Code's compacted session in it. */
  cwd: string;
  current: string;
  /** Writes a file below the home folder. */
  write(path: string, content: string): string;
}

/** A home folder with a session of each agent. Each has the word "harbour"; the fact of each is its own word. */
export function agentsHome(): AgentsHome {
  const folder = testFolder();
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const write = (path: string, content: string) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  const current = "5b1f0000-0000-4000-8000-00000000000c";
  const rows = claudeRows({
    ...{ id: current, cwd },
    texts: ["Paint the harbour wall. Never use lead.", "The wall needs 14 cans of cobalt."],
  });
  const later = claudeRows({ id: current, cwd, texts: ["", "", "Now the crane.", "The crane is amber."] });
  const compaction = claudeCompaction(rows, "The user wants a harbour painted.");
  const after = later.slice(2).map((row, at) => (at === 0 ? { ...row, parentUuid: "cs" } : row));
  write(`.claude/projects/-project/${current}.jsonl`, linesOf([...rows, ...compaction, ...after]));
  write(
    ".codex/sessions/2026/10/01/rollout-2026-10-01T10-00-00-0199.jsonl",
    linesOf([
      { timestamp: time(0), type: "session_meta", payload: { id: "0199-codex", cwd: "/srv/mill" } },
      ...["Open the harbour mill.", "The mill runs on vermilion."].map((text, at) => ({
        ...{ timestamp: time(at + 1), type: "response_item" },
        payload: {
          ...{ type: "message", role: at === 0 ? "user" : "assistant" },
          content: [{ type: at === 0 ? "input_text" : "output_text", text }],
        },
      })),
    ]),
  );
  write(
    ".gemini/tmp/9f/chats/session-1.jsonl",
    linesOf([
      { sessionId: "gemini-1", projectHash: "9f", startTime: time(0), directories: ["/srv/bees"] },
      { id: "g1", timestamp: time(1), type: "user", content: "Count the harbour bees." },
      { id: "g2", timestamp: time(2), type: "gemini", content: "The bees wear saffron.", model: "gemini-3" },
    ]),
  );
  write(
    ".qwen/projects/-srv-kiln/chats/q.jsonl",
    linesOf(
      ["Fire the harbour kiln.", "The kiln burns viridian."].map((text, at) => ({
        ...{ uuid: `q${at}`, parentUuid: at === 0 ? null : "q0", sessionId: "qwen-1", timestamp: time(at) },
        ...{ type: at === 0 ? "user" : "assistant", cwd: "/srv/kiln", model: "qwen3" },
        message: { role: at === 0 ? "user" : "model", parts: [{ text }] },
      })),
    ),
  );
  const session = (id: string, sessionCwd: string, texts: readonly string[]) =>
    linesOf([
      { type: "session", version: 3, id, timestamp: time(0), cwd: sessionCwd },
      ...texts.map((text, at) => ({
        ...{ type: "message", id: `${id.slice(-4)}000${at}`, timestamp: time(at + 1) },
        parentId: at === 0 ? null : `${id.slice(-4)}000${at - 1}`,
        message: { role: "user", content: text, timestamp: 0 },
      })),
    ]);
  const piId = "0aaa0000-0000-4000-8000-00000000aaaa";
  write(
    `.pi/agent/sessions/--srv-pi--/2026-10-01T10-00-00-000Z_${piId}.jsonl`,
    session(piId, "/srv/pi", ["Bake a harbour pie of magenta."]),
  );
  const ownId = "0bbb0000-0000-4000-8000-00000000bbbb";
  write(
    `.bonsai/sessions/--srv-own--/2026-10-01T10-00-00-000Z_${ownId}.jsonl`,
    session(ownId, "/srv/own", ["Prune the harbour tree of indigo."]),
  );
  openCodeDatabase(write(".local/share/opencode/opencode.db", ""));
  return { folder, env: { HOME: folder, BONSAI_HOME: join(folder, ".bonsai") }, cwd, current, write };
}

/** Writes OpenCode's database with one session, and one of a sub-agent. */
export function openCodeDatabase(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
    INSERT INTO session VALUES ('ses_main', NULL, '/srv/boat', 'Tar the boat', '1.2.0', 1790000000000, 1790000000000);
    INSERT INTO session VALUES ('ses_sub', 'ses_main', '/srv/boat', 'Sub-agent', '1.2.0', 1790000000000, 1790000000000);
  `);
  const add = (id: string, role: string, text: string) => {
    const data = { role, time: { created: 1790000000000 }, modelID: "m", providerID: "p" };
    database
      .prepare("INSERT INTO message VALUES (?, 'ses_main', 1790000000000, ?)")
      .run(id, JSON.stringify(data));
    database
      .prepare("INSERT INTO part VALUES (?, ?, 'ses_main', ?)")
      .run(`${id}p`, id, JSON.stringify({ type: "text", text }));
  };
  add("msg_1", "user", "Tar the harbour boat.");
  add("msg_2", "assistant", "The boat is umber.");
  database.close();
}
