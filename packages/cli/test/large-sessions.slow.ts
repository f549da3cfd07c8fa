import { readFileSync, statSync } from "node:fs";
import { createSession, type Entry, JsonlStore, openSession } from "@bonsai-agent/session";
import { countedReads, everyRow } from "@bonsai-agent/testkit";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import { expect, test } from "vitest";
import { Output, outputJson, outputJsonList } from "../src/call/output.ts";
import { trialCopy } from "../src/call/session-copy.ts";
import { liveCompactions } from "../src/views/compaction-record.ts";
import { header, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

const timestamp = "2026-01-01T00:00:00.000Z";
const idOf = (at: number) => at.toString(16).padStart(8, "0");

/** Entries with short messages, each below the entry at `parentOf`; -1 for a root. */
function grown(count: number, parentOf: (at: number) => number): string {
  const entries = Array.from({ length: count }, (_, at) => {
    const parent = parentOf(at);
    const message =
      at % 2 === 0
        ? { role: "user", content: `item ${at}`, timestamp: at }
        : {
            role: "assistant",
            content: [{ type: "text", text: `It is ${at}.` }],
            stopReason: "stop",
            timestamp: at,
          };
    return { type: "message", id: idOf(at), parentId: parent < 0 ? null : idOf(parent), timestamp, message };
  });
  return writeLines([header, ...entries]);
}

const shapes: Record<string, (at: number) => number> = {
  "one deep line": (at) => at - 1,
  "children of one parent": (at) => Math.min(0, at - 1),
  "a comb": (at) => (at % 3 === 0 ? at - 3 : at - 1),
  roots: (at) => (at % 2 === 0 ? -1 : at - 1),
};

const commands = [
  ["show"],
  ["tree", "--all"],
  ["tree", "--json"],
  ["context"],
  ["doctor"],
  ["export", "--all"],
  ["compact", "--dry-run", "--json"],
];

test("every command reads every shape of large session", () =>
  everyRow(Object.keys(shapes))(async (shape) => {
    const file = grown(500, shapes[shape]!);
    for (const [command, ...flags] of commands) {
      const { code, stderr } = await runCli([command!, file, ...flags]);
      expect(`${command} ${code} ${stderr}`).toBe(`${command} 0 `);
    }
  }));

test("no depth is too deep for the tree and for an export", async () => {
  const file = grown(12_000, (at) => at - 1);
  const { stdout } = await runCli(["tree", file, "--all"]);
  expect(stdout.split("\n")).toHaveLength(12_000 + 3);
  expect((await runCli(["export", file, "--all"])).stdout).toContain("item 11998");
});

test("the compactions of a path are found by one walk, not by reading the file for each", () => {
  const made = createSession({ cwd: "/", file: `${grown(0, () => -1)}.made` });
  for (let at = 0; at < 300; at += 1) {
    const { id } = made.append({
      type: "message",
      message: { role: "user", content: "x".repeat(300), timestamp: 1 },
    });
    made.append({ type: "compaction", summary: `${at}`, firstKeptEntryId: id, tokensBefore: 1 });
  }
  const { store, read } = countedReads(JsonlStore.open(made.file!));
  const session = openSession({ store });
  const all = liveCompactions(session);
  expect(all).toHaveLength(300);
  expect(all.slice(0, 2).map(({ summary }) => summary)).toEqual(["299", "298"]);
  expect(read.bytes).toBeLessThan(4 * statSync(made.file!).size);
});

test("an undone entry does not count before the compaction in between", () => {
  const session = createSession({ cwd: "/" });
  const compact = (summary: string) => {
    const { id } = session.append({
      type: "message",
      message: { role: "user", content: summary, timestamp: 1 },
    });
    return session.append({ type: "compaction", summary, firstKeptEntryId: id, tokensBefore: 1 }).id;
  };
  const [first, , last] = [compact("one"), compact("two"), compact("three")];
  session.undoCompaction(last);
  session.undoCompaction(first);
  expect(liveCompactions(session).map(({ summary }) => summary)).toEqual(["two", "one"]);
});

test("a trial copy contains only its own entries", () => {
  const file = grown(2_000, (at) => at - 1);
  const before = readFileSync(file);
  const session = trialCopy(openSession(file), idOf(500));
  expect(session.leafId).toBe(idOf(500));
  expect(session.store.size() - before.length).toBeLessThan(1_000);
  const { id } = session.append({ type: "label", targetId: idOf(3), label: "here" });
  expect(session.leafId).toBe(id);
  expect(session.path()).toHaveLength(502);
  expect(readFileSync(file)).toEqual(before);
});

test("an export of all branches reads the path once", () => {
  const session = openSession(grown(3_000, shapes["children of one parent"]!));
  let paths = 0;
  const counting: Parameters<typeof exportMarkdown>[0] = {
    header: session.header,
    leafId: session.leafId,
    entries: () => session.entries(),
    path(leafId) {
      paths += 1;
      return session.path(leafId) as Entry[];
    },
  };
  const text = exportMarkdown(counting, { all: true });
  expect(text.match(/^# Branch from /gm)).toHaveLength(2_998);
  expect(paths).toBe(1);
});

test("a long list is streamed at the speed of its reader", async () => {
  let made = 0;
  const madeAtWrite: number[] = [];
  const stdout = {
    write: () => {
      madeAtWrite.push(made);
      return false;
    },
    once: (event: string, listener: () => void) => event === "drain" && setImmediate(listener),
  };
  const output = new Output({ stdout, stderr: stdout, env: {} } as never, true);
  function* values() {
    for (; made < 10_000; made += 1) yield { text: "x".repeat(100) };
  }
  await output.list(values, () => []);
  expect(madeAtWrite.length).toBeGreaterThan(10);
  expect(madeAtWrite[0]).toBeLessThan(1_000);
});

test("a list in pieces is the list's JSON", () =>
  everyRow([[[]], [[1]], [[{ a: [1, { b: "x\ny" }] }, "two", [], {}, null]]])(([list]) => {
    for (const indent of [0, 2])
      expect([...outputJsonList(list, indent)].join("")).toBe(outputJson(list, indent));
  }));
