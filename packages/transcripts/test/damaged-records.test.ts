import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { addUsage, BonsaiError, callsIn, emptyUsage, jsonText } from "@bonsai-agent/messages";
import { everyRow, fewRuns } from "@bonsai-agent/testkit";
import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pathTo } from "./projection-text.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-damaged-"));

const FIXTURES = [
  "claude-code-basic.jsonl",
  "claude-code-compacted.jsonl",
  "claude-code-kept-messages.jsonl",
  "claude-code-partial.jsonl",
  "claude-code-tree.jsonl",
  "claude-code-queue.jsonl",
  "codex-basic.jsonl",
  "codex-compacted.jsonl",
  "codex-opaque.jsonl",
  "codex-legacy.jsonl",
  "codex-counts-before.jsonl",
  "gemini.jsonl",
  "gemini-old.json",
  "opencode-export.json",
  "qwen.jsonl",
];

/** The records of a fixture: its lines, or its one object. */
function recordsOf(name: string): unknown[] {
  const text = readFileSync(join(import.meta.dirname, "fixtures", name), "utf8");
  if (extname(name) === ".json") return [JSON.parse(text)];
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

const oddValue = fc.constantFrom<unknown>(
  null,
  0,
  -1,
  1e15,
  "",
  "x",
  true,
  [],
  {},
  [null],
  [[]],
  { type: "text" },
  [{}],
);

/** Damage of records. Each number counts modulo the records. */
const damage = fc.record({
  kind: fc.constantFrom("drop", "repeat", "swap", "cut", "field", "field", "field", "remove"),
  at: fc.nat(),
  deep: fc.array(fc.nat(), { maxLength: 6 }),
  value: oddValue,
});

function damaged(
  records: readonly unknown[],
  damages: ReadonlyArray<typeof damage extends fc.Arbitrary<infer D> ? D : never>,
) {
  const lines = structuredClone(records) as unknown[];
  for (const { kind, at, deep, value } of damages) {
    const place = lines.length === 0 ? 0 : at % lines.length;
    if (kind === "drop") lines.splice(place, 1);
    else if (kind === "repeat")
      lines.splice(place, 0, structuredClone(lines[(at >> 4) % Math.max(1, lines.length)]));
    else if (kind === "swap") lines.push(...lines.splice(place, 1));
    else if (kind === "cut") lines.length = Math.max(1, place);
    else change(lines[place], { deep, value, isGone: kind === "remove" });
  }
  return lines;
}

function change(
  record: unknown,
  { deep, value, isGone }: { deep: number[]; value: unknown; isGone: boolean },
): void {
  let holder = record as Record<string, unknown>;
  for (const [depth, step] of deep.entries()) {
    if (typeof holder !== "object" || holder === null) return;
    const keys = Object.keys(holder);
    const key = keys[step % Math.max(1, keys.length)];
    if (key === undefined) return;
    const next = holder[key];
    if (depth < deep.length - 1 && typeof next === "object" && next !== null)
      holder = next as Record<string, unknown>;
    else if (isGone) delete holder[key];
    else holder[key] = structuredClone(value);
  }
}

function written(name: string, records: readonly unknown[]): string {
  const path = join(folder, name);
  writeFileSync(path, records.map((record) => JSON.stringify(record) ?? "").join("\n"));
  return path;
}

/** Undefined where the import is refused for a named reason. */
function importedOrRefused(path: string): ImportResult | undefined {
  try {
    return importTranscript({ path });
  } catch (error) {
    if (BonsaiError.is(error)) return undefined;
    throw error;
  }
}

function expectLegal({ entries, leafId, report }: ImportResult): void {
  const leaves = entries.filter((entry) => !entries.some(({ parentId }) => parentId === entry.id));
  for (const id of [leafId, ...leaves.slice(0, 6).map((leaf) => leaf.id)]) {
    const called = new Set<string>();
    let open = new Set<string>();
    for (const entry of pathTo(entries, id)) {
      if (entry.type !== "message") {
        if (["custom_message", "compaction", "branch_summary"].includes(entry.type)) open = new Set();
        continue;
      }
      const { message } = entry;
      if (message.role === "toolResult") {
        expect([...called]).toContain(message.toolCallId);
        open.delete(message.toolCallId);
        continue;
      }
      open = new Set(callsIn(message).map((call) => call.id));
      for (const each of open) called.add(each);
    }
    if (leaves.some((leaf) => leaf.id === id)) expect([...open]).toEqual([]);
  }
  let sum = emptyUsage();
  for (const entry of entries) {
    if ("usage" in entry && entry.usage !== undefined) sum = addUsage(sum, entry.usage);
    if (entry.type === "message" && entry.message.role === "assistant")
      sum = addUsage(sum, entry.message.usage);
  }
  expect(report.usage).toEqual(sum);
  for (const notice of report.notices) expect(notice.message).not.toBe("");
}

test("law: a transcript with damaged records is refused by name, or is a sound session, the same each time", () =>
  everyRow(FIXTURES)((name) => {
    const records = recordsOf(name);
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 8 }), (damages) => {
        const path = written(name, damaged(records, damages));
        const first = importedOrRefused(path);
        if (first === undefined) return;
        expectLegal(first);
        expect(jsonText(importedOrRefused(path))).toBe(jsonText(first));
      }),
      fewRuns(),
    );
  }));

/** Words that a user wrote, in records of each program that can be damaged around them. */
const SAID: Array<[program: string, records: (words: string, id: number) => unknown]> = [
  [
    "claude.jsonl",
    (words, id) => ({
      type: "user",
      uuid: `u${id}`,
      parentUuid: id === 0 ? null : `u${id - 1}`,
      sessionId: "s",
      message: { role: "user", content: [{ type: "text", text: words }] },
    }),
  ],
  [
    "codex.jsonl",
    (words, id) => ({
      type: id % 2 === 0 ? "response_item" : "event_msg",
      payload:
        id % 2 === 0
          ? { type: "message", role: "user", content: [{ type: "input_text", text: words }] }
          : { type: "user_message", message: words },
    }),
  ],
  [
    "gemini.jsonl",
    (words, id) =>
      id === 0
        ? { sessionId: "s", projectHash: "h", messages: [{ id: "0", type: "user", content: words }] }
        : { id: `${id}`, type: "user", content: words },
  ],
  [
    "qwen.jsonl",
    (words, id) => ({
      type: "user",
      uuid: `u${id}`,
      parentUuid: id === 0 ? null : `u${id - 1}`,
      sessionId: "s",
      message: { parts: [{ text: words }] },
    }),
  ],
];

test("law: no words of the user are lost where other records are damaged", () =>
  everyRow(SAID)(([name, recordOf]) => {
    fc.assert(
      fc.property(fc.array(damage, { maxLength: 6 }), fc.integer({ min: 1, max: 8 }), (damages, many) => {
        const said = Array.from({ length: many }, (_, id) => recordOf(`said ${id} by the user`, id));
        const others = recordsOf(FIXTURES.find((each) => each.startsWith(name.slice(0, 5)))!);
        const noise = damaged(others, damages).filter(
          (record) => !/rewind|rolled_back|\$set/i.test(JSON.stringify(record) ?? ""),
        );
        const result = importTranscript({ path: written(name, [...said, ...noise]) });
        const text = JSON.stringify(result.entries);
        for (let id = 0; id < many; id += 1) expect(text).toContain(`said ${id} by the user`);
      }),
    );
  }));
