import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import { describe, expect, test } from "vitest";
import { messageLine, projectionText } from "./projection-text.ts";

function fixture(name: string): string {
  return join(import.meta.dirname, "fixtures", name);
}

/** A transcript with the messages that the model sees at its end, and the report of its import. */
interface Case {
  name: string;
  path: string;
  projection: string[];
  notices: string[];
  /** Input, output, cache read, cache write. */
  tokens: number[];
}

const CASES = readFileSync(join(import.meta.dirname, "golden/imports.txt"), "utf8")
  .trim()
  .split("\n\n")
  .map((section): Case => {
    const [name = "", path = "", notices = "", tokens = "", ...projection] = section.split("\n");
    const value = (line: string) => line.slice(line.indexOf(":") + 1).trim();
    return {
      name: name.slice(2),
      path: value(path),
      notices: value(notices).split(" | ").filter(Boolean),
      tokens: value(tokens).split(" ").map(Number),
      projection: projection.map((line) => line.replaceAll("\\n", "\n")),
    };
  });

function noticeLines(result: ImportResult): string[] {
  return result.report.notices.map(({ kind, lines }) => [kind, lines.join(",")].join(" ").trim());
}

describe("importTranscript", () => {
  test.each(CASES)("$name", ({ path, projection, notices, tokens }) => {
    const result = importTranscript({ path: fixture(path) });
    const { input, output, cacheRead, cacheWrite } = result.report.usage;
    expect(projectionText(result)).toEqual(projection);
    expect(noticeLines(result)).toEqual(notices);
    expect([input, output, cacheRead, cacheWrite]).toEqual(tokens);
  });

  test("an import makes the same file each time, which opens to the same view", () =>
    everyRow(CASES)(({ path, projection }) => {
      const folder = mkdtempSync(join(tmpdir(), "bonsai-import-"));
      const [first, second] = ["first", "second"].map((name) => {
        const { file } = importTranscript({
          path: fixture(path),
          into: { file: join(folder, `${name}.jsonl`) },
        });
        return readFileSync(file!, "utf8");
      });
      expect(second).toBe(first);
      const opened = openSession(join(folder, "first.jsonl")).projection();
      expect(opened.items.map((item) => messageLine(item.message))).toEqual(projection);
      expect(statSync(join(folder, "first.jsonl")).mode & 0o777).toBe(0o600);
    }));

  test("keeps what was compacted away, rewound and written by others as branches", () => {
    const counts = (path: string) => importTranscript({ path: fixture(path) }).report.counts;
    expect(counts("claude-code-compacted.jsonl")).toMatchObject({ compaction: 2, user: 4, assistant: 5 });
    expect(counts("claude-code-tree.jsonl")).toMatchObject({ user: 6, assistant: 5 });
    expect(counts("gemini.jsonl")).toMatchObject({ user: 4, assistant: 5, compaction: 1 });
    expect(counts("codex-basic.jsonl")).toMatchObject({ user: 3, assistant: 6 });
  });

  test("sub-agents in the same file are sessions of their own", () => {
    const { subAgents } = importTranscript({ path: fixture("claude-code-tree.jsonl") });
    expect(subAgents.map((each) => projectionText(each))).toEqual([["U Look around.", "A Nothing here."]]);
  });

  test("titles: the user's before the model's before a summary's", () => {
    const name = (path: string) =>
      importTranscript({ path: fixture(path) }).entries.flatMap((entry) =>
        entry.type === "session_info" ? entry.name : [],
      );
    expect(name("claude-code-compacted.jsonl")).toEqual(["store rename"]);
    expect(name("claude-code-basic.jsonl")).toEqual(["Basket total bug"]);
    expect(name("codex-basic.jsonl")).toEqual(["Finer flour"]);
    expect(name("gemini.jsonl")).toEqual(["Counting bees"]);
  });

  test("entries carry the transcript's own times and the cost that it has", () => {
    const { entries } = importTranscript({ path: fixture("codex-basic.jsonl") });
    const user = entries.find((entry) => entry.type === "message" && entry.message.role === "user");
    expect(user?.timestamp).toBe("2026-08-02T09:00:06.000Z");
    expect(importTranscript({ path: fixture("opencode-export.json") }).report.usage.cost.total).toBeCloseTo(
      0.14,
    );
  });

  test("the folder of a Gemini recording stands beside its chats", () => {
    const project = mkdtempSync(join(tmpdir(), "bonsai-gemini-"));
    mkdirSync(join(project, "chats"));
    writeFileSync(join(project, ".project_root"), "/home/cy/bees\n");
    copyFileSync(fixture("gemini-old.json"), join(project, "chats", "session-1.json"));
    expect(importTranscript({ path: join(project, "chats", "session-1.json") }).header.cwd).toBe(
      "/home/cy/bees",
    );
  });

  test("notices name ids or files where a transcript has no lines", () => {
    const records = (path: string) =>
      importTranscript({ path: fixture(path) }).report.notices.map(({ kind, records }) => [kind, ...records]);
    expect(records("opencode-export.json")).toEqual([
      ["image_not_stored", "msg_01"],
      ["result_missing", "msg_04"],
      ["failed_compaction", "msg_11"],
    ]);
    const [[kind, file]] = records("opencode-storage") as [[string, string]];
    expect([kind, file.slice(-10)]).toEqual(["bad_line", "sg_99.json"]);
  });

  test("a cancelled turn of OpenCode and of Gemini CLI is marked", () => {
    const folder = mkdtempSync(join(tmpdir(), "bonsai-cancelled-"));
    const stops = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      const { entries, report } = importTranscript({ path: join(folder, name) });
      const answers = entries.flatMap((entry) =>
        entry.type === "message" && entry.message.role === "assistant" ? [entry.message.stopReason] : [],
      );
      return [...answers, report.notices.find(({ kind }) => kind === "cancelled_turns")?.count];
    };
    const message = (role: string, more: object) => ({
      info: { id: role, role, ...more },
      parts: role === "user" ? [{ type: "text", text: "Go." }] : [],
    });
    const aborted = message("assistant", {
      error: { name: "MessageAbortedError" },
      modelID: "m",
      providerID: "p",
    });
    expect(
      stops("o.json", JSON.stringify({ info: { id: "s" }, messages: [message("user", {}), aborted] })),
    ).toEqual(["aborted", 1]);
    const gemini = (...more: object[]) =>
      [{ sessionId: "s", projectHash: "h" }, { id: "1", type: "user", content: "Go." }, ...more]
        .map((each) => JSON.stringify(each))
        .join("\n");
    const told = { id: "9", type: "info", content: "Request cancelled." };
    const call = (status: string) => ({
      id: status,
      name: "look",
      status,
      result: [{ functionResponse: { id: status, response: { output: "x" } } }],
    });
    const answer = (...toolCalls: object[]) => ({
      id: "2",
      type: "gemini",
      content: "I",
      model: "g",
      toolCalls,
    });
    expect(stops("1.jsonl", gemini(told))).toEqual(["aborted", 1]);
    expect(stops("2.jsonl", gemini(answer(), told))).toEqual(["aborted", 1]);
    expect(stops("3.jsonl", gemini(answer(call("cancelled"))))).toEqual(["toolUse", "aborted", 1]);
    expect(stops("3b.jsonl", gemini(answer(call("cancelled")), told, told))).toEqual([
      "toolUse",
      "aborted",
      1,
    ]);
    expect(stops("4.jsonl", gemini(answer(call("success"), call("cancelled"))))).toEqual([
      "toolUse",
      undefined,
    ]);
  });

  test("a session of no folder, or of the root, tells how to name one", () => {
    const recording = (more: object) => {
      const path = join(mkdtempSync(join(tmpdir(), "bonsai-root-")), "session.jsonl");
      writeFileSync(
        path,
        `${JSON.stringify({ sessionId: "s", projectHash: "h", ...more })}\n{"id":"1","type":"user","content":"Go."}\n`,
      );
      return path;
    };
    for (const path of [recording({}), recording({ directories: ["/"] })]) {
      const { header, report } = importTranscript({ path });
      expect([header.cwd, report.notices[0]?.kind]).toEqual(["/", "cwd_unknown"]);
      expect(report.notices[0]?.message).toContain("--cwd");
      expect(importTranscript({ path, cwd: "/srv/bees" }).report.notices).toEqual([]);
    }
  });

  test("a pipe or a device is refused, and nobody waits for its writer", () => {
    const pipe = join(mkdtempSync(join(tmpdir(), "bonsai-import-")), "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, "/dev/null"]) {
      expect(() => importTranscript({ path })).toThrowError(
        expect.objectContaining({ code: "transcript_not_a_file" }),
      );
    }
  });

  test("never overwrites", () => {
    const file = join(mkdtempSync(join(tmpdir(), "bonsai-import-")), "taken.jsonl");
    writeFileSync(file, "mine");
    expect(() => importTranscript({ path: fixture("qwen.jsonl"), into: { file } })).toThrowError(
      expect.objectContaining({ code: "session_exists" }),
    );
    expect(readFileSync(file, "utf8")).toBe("mine");
  });
});
