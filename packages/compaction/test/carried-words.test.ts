import { estimateTokens } from "@bonsai-agent/messages";
import { MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import { countedReads, everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionSettingsInput,
  compactionSettings,
  navigateTree,
  runCompaction,
} from "../src/index.ts";
import { begun, block, compact, RULE, settings, times, words, work } from "./carried-work.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

test("eight compactions in a row, by the digest and by a model in turn, lose no word", async () => {
  const session = begun();
  for (let round = 0; round < 8; round += 1) {
    work(session, round);
    const summary = await compact(session, round % 2 === 0 ? {} : { summariser: scriptedSummariser() });
    expect(times(summary, RULE)).toBe(1);
    for (let said = 0; said <= round; said += 1)
      expect(times(summary, `Take port 84${said}3`), `${said}`).toBe(1);
    expect(words(summary).findIndex((line) => line.includes(RULE))).toBe(1);
  }
});

test("a fork of the session and a move in its tree go on from the words before", async () => {
  const { session, id } = history(`U"${RULE}" A:900 | U:900 A:900 | U:100 A:150`);
  await compact(session);
  work(session, 1);
  await navigateTree({ session, targetId: id("a3"), settings });
  work(session, 2);
  const summary = await compact(session);
  expect([times(summary, RULE), times(summary, "Take port 8413"), times(summary, "Take port 8423")]).toEqual([
    1, 0, 1,
  ]);
});

test("the user's words on a left branch are marked, and carried with its summary", async () => {
  const { session, id } = history(
    `U"${RULE}" A:300 | U"Try Redis in src/cache.ts." A"Redis is too slow here.":900`,
  );
  await navigateTree({ session, targetId: id("a1"), settings, summarise: true });
  const [, summary] = session
    .projection()
    .items.map(({ message }) => ("summary" in message ? message.summary : ""))
    .filter((text, at) => at < 1 || text !== "");
  expect(words(summary ?? "").join("\n")).toContain("Try Redis in src/cache.ts.");
  work(session, 1);
  const next = await compact(session);
  expect(words(next).find((line) => line.includes("Try Redis"))).toContain("(on another branch)");
  expect(words(next).find((line) => line.includes(RULE))).not.toContain("(on another branch");
});

test("an undone compaction leaves no words behind, and the next finds all of them", async () => {
  const session = begun();
  work(session, 1);
  const { entryId } = await runCompaction({ session, settings });
  session.undoCompaction(entryId!);
  work(session, 2);
  const summary = await compact(session);
  for (const said of [RULE, "Take port 8413", "Take port 8423"]) expect(times(summary, said)).toBe(1);
});

test("the index contains terms of a masked result; words that an edit removed are not carried", async () => {
  const past = `U"${RULE}" A(t1=bash:ls) T1"made of src/listed.ts" A:900 | U:900 A:900 | U:100 A:150`;
  const summary = await compact(history(`${past} M(t1)`).session);
  expect(times(summary, RULE)).toBe(1);
  expect(times(await compact(history(`${past} E(u1)"[cut]"`).session), RULE)).toBe(0);
  expect(block(summary, "terms").join("\n")).toContain("src/listed.ts");
});

test("words that an edit removed after a compaction of pi are not read again", async () => {
  const { session } = history(
    `U"The password is hunter2." A:300 | U"${RULE}" A:300 | U:100 A:100 C(u3) E(u1)`,
  );
  work(session, 1);
  const summary = await compact(session);
  expect([times(summary, RULE), times(summary, "hunter2")]).toEqual([1, 0]);
});

/** A session in a store that counts what is read of it. */
function counted(session: Session): { session: Session; read: { bytes: number } } {
  const text = [session.header, ...session.entries()].map((line) => `${JSON.stringify(line)}\n`).join("");
  const { store, read } = countedReads(new MemoryStore(text));
  return { session: openSession({ store }), read };
}

test("behind a compaction of pi's, what was said is read again from the file, once", async () => {
  const past = Array.from(
    { length: 60 },
    (_, at) => `U"Take colour ${at} for src/wall-${at}.ts." A:9000`,
  ).join(" | ");
  const made = history(`U"${RULE}" A:300 | ${past} | U:100 A:100`);
  made.session.append({
    ...{
      type: "compaction",
      summary: "## Goal\nPaint it.",
      firstKeptEntryId: made.id("u62"),
      tokensBefore: 9_000,
    },
    details: { readFiles: [], modifiedFiles: [] },
  });
  const { session, read } = counted(made.session);
  work(session, 1);
  const opened = read.bytes;
  const first = await compact(session);
  const again = read.bytes - opened;
  expect([times(first, RULE), times(first, "Take colour 59"), times(first, "Take port 8413")]).toEqual([
    1, 1, 1,
  ]);
  work(session, 2);
  const before = read.bytes;
  const second = await compact(session);
  expect(times(second, RULE)).toBe(1);
  expect(read.bytes - before).toBeLessThan(again / 10);
});

test("the words take a tenth of any window at most", () =>
  everyRow([8_000, 16_000, 32_000, 200_000])(async (contextWindow) => {
    const turns = Array.from(
      { length: 150 },
      (_, at) => `U"Paint wall ${at} of the house in colour number ${at * 7}, as we said." A:20`,
    );
    const { session } = history(`${turns.join(" | ")} | U:100 A:300`);
    const summary = await compact(session, { model: { contextWindow } });
    const said = words(summary).filter((line) => !/^\d+\. agent: /.test(line));
    expect(estimateTokens(said.join("\n"))).toBeLessThanOrEqual(Math.min(4_000, contextWindow / 10) + 60);
    if (contextWindow < 32_000) expect(words(summary)[1]).toMatch(/^\(\d+ other messages are left out/);
  }));

const none: ReadonlyArray<[name: string, input: CompactionSettingsInput]> = [
  ["words.maxTokens 0", { words: { maxTokens: 0 } }],
  ...(["pi", "klaude", "tunacode", "opencode"] as const).map((preset): [string, CompactionSettingsInput] => [
    `the preset ${preset}`,
    { preset },
  ]),
];

test("a model's summary carries no words where the settings switch them off, and the model is asked for them", () =>
  everyRow(none)(async ([, input]) => {
    const session = begun();
    work(session, 1);
    const summariser = scriptedSummariser();
    const own = compactionSettings({ ...input, keepRecentTokens: 200 });
    const summary = await compact(session, { settings: own, summariser });
    expect(words(summary)).toEqual([]);
    expect(summariser.requests.some(({ carriesUserWords }) => carriesUserWords === true)).toBe(false);
  }));
