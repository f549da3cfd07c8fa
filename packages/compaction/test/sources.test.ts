import { createSession, type Entry, pinChange, type Session } from "@bonsai-agent/session";
import { adversarialTexts, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SummaryEntry, SummaryLine } from "../src/host.ts";
import {
  compactionSettings,
  digestSummariser,
  navigateTree,
  pinMessage,
  runCompaction,
  type Summariser,
  summarySources,
} from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings(
  { keepRecentTokens: 200, mask: { enabled: false } },
  { estimator: "chars4" },
);

async function compacted(session: Session, summariser: Summariser = digestSummariser()) {
  const result = await runCompaction({ session, settings, summariser });
  expect(result.status).toBe("compacted");
  return latest(session);
}

function latest(session: Session): SummaryEntry {
  return session.projection().compaction!;
}

/** A model whose summary has these lines under its first heading. */
function writing(...lines: string[]): Summariser {
  return scriptedSummariser([
    (request) => ({ text: wellFormed(request).replace(/\n/, `\n${lines.join("\n")}\n`) }),
  ]);
}

/** The line that begins so, or holds it. */
function line(session: Session, text: string, entry = latest(session)): SummaryLine {
  const found = summarySources(session, entry).find((each) => each.text.includes(text));
  expect(found, text).toBeDefined();
  return found!;
}

const known = (...entryIds: string[]) => expect.objectContaining({ entryIds, isMatched: false });
const matched = (...entryIds: string[]) => expect.objectContaining({ entryIds, isMatched: true });
const nothing = known();

/** Everything that stands before a summary on its path, or on the way to the end of its branch; with the branches that are summarised there. */
function nameable(session: Session, entry: SummaryEntry, seen = new Set<string>()): Set<string> {
  const end = entry.type === "compaction" ? entry.parentId : entry.fromId;
  const path = end === null || session.entry(end) === undefined ? [] : session.path(end);
  const ids = new Set(path.map(({ id }) => id));
  for (const each of path) {
    if (each.type !== "branch_summary" || seen.has(each.id)) continue;
    seen.add(each.id);
    for (const id of nameable(session, each, seen)) ids.add(id);
  }
  return ids;
}

function checkLaws(session: Session, entry: SummaryEntry): void {
  const lines = summarySources(session, entry);
  expect(lines.map(({ text }) => text).join("\n")).toBe(entry.summary);
  const before = nameable(session, entry);
  for (const { entryIds, isMatched } of lines) {
    expect(entryIds.filter((id) => !before.has(id))).toEqual([]);
    expect(new Set(entryIds).size).toBe(entryIds.length);
    if (isMatched) expect(entryIds).not.toEqual([]);
  }
}

function isSummary(entry: Entry): entry is SummaryEntry {
  return entry.type === "compaction" || entry.type === "branch_summary";
}

test("Invariant: joined, the lines are the summary, and each entry stands before it", async () => {
  const seed = fc.nat(99);
  await fc.assert(
    fc.asyncProperty(treeArbitrary({ maxTokens: 300 }), seed, async (notation, pick) => {
      const { session } = history(notation);
      await runCompaction({ session, settings });
      const targets = session.entries().filter(({ type }) => type === "message");
      const targetId = targets[pick % targets.length]!.id;
      await navigateTree({ session, targetId, settings, summarise: true });
      history("U:300 A:300 | U A:200", session);
      await runCompaction({ session, settings, summariser: scriptedSummariser() });
      for (const entry of session.entries().filter(isSummary)) checkLaws(session, entry);
    }),
  );
});

test("Invariant: the joined lines are the summary, for any author", () => {
  for (const [, text] of adversarialTexts(500)) {
    const { session } = history("U A | U A");
    const kept = session.leafId!;
    for (const summary of [
      text,
      `<read-files>\na.ts\n</read-files>\n${text}`,
      `${text}\n\n<pinned>\n${text}`,
    ]) {
      const entry = session.append({ type: "compaction", summary, firstKeptEntryId: kept, tokensBefore: 1 });
      checkLaws(session, entry as SummaryEntry);
    }
  }
});

test("each line of data has its entries", async () => {
  const { session, id } = history(
    `U"Take port 8413.\nAnd nothing else." A(r1=read:src/a.ts e1=edit:src/a.ts) Tr1:300 Te1 A"Port 8413 is set in src/a.ts." |
     U"Publish it, then look at src/b.ts." A(p1=bash:make_release r2=read:src/b.ts) Tp1"ok" Tr2:300 A"Both done."
     | U"- [ ] write the changelog" A:5000 | U:100 A:150`,
  );
  await compacted(session);
  expect(line(session, "1. ")).toEqual(known(id("u1")));
  expect(line(session, "And nothing else.")).toEqual(known(id("u1")));
  expect(line(session, "2. ")).toEqual(known(id("u2")));
  expect(line(session, "3. agent: ")).toEqual(known(id("a5")));
  expect(line(session, "make_release")).toEqual(matched(id("a3")));
  expect(line(session, "- [ ] write the changelog")).toEqual(known(id("u3")));
  const files = summarySources(session, latest(session)).filter(({ text }) => /^src\/[ab]\.ts$/.test(text));
  expect(files).toEqual([known(id("a3")), known(id("a1"))]);
  expect(line(session, "<user-words>")).toEqual(nothing);
  expect(line(session, "The user's messages in order")).toEqual(nothing);
});

test("failing and irreversible commands have their results as sources, in a digest and after a model's prose", async () => {
  for (const summariser of [digestSummariser(), scriptedSummariser()]) {
    const { session, id } = commandsRun();
    await compacted(session, summariser);
    expect(line(session, "npm test")).toEqual(known(id("t1")));
    expect(line(session, "git push")).toEqual(known(id("t2")));
  }
});

function commandsRun() {
  const calls = [
    { type: "toolCall" as const, id: "t1", name: "bash", arguments: { command: "npm test" } },
    { type: "toolCall" as const, id: "t2", name: "bash", arguments: { command: "git push origin main" } },
  ];
  const { session } = history(`U"Run it all." A:200`);
  const call = session.append({ type: "message", message: { ...assistantOf(session), content: calls } });
  const results = [
    ["t1", "1 failing: parser drops commas\n\nCommand exited with code 1", true],
    ["t2", "main -> main", false],
  ] as const;
  const ids = new Map<string, string>([["a2", call.id]]);
  for (const [toolCallId, text, isError] of results) {
    const content = [{ type: "text" as const, text }];
    const message = {
      role: "toolResult" as const,
      toolCallId,
      toolName: "bash",
      content,
      isError,
      timestamp: 1,
    };
    ids.set(toolCallId, session.append({ type: "message", message }).id);
  }
  history("A:6000 | U:100 A:150", session);
  return { session, id: (name: string) => ids.get(name)! };
}

function assistantOf(session: Session) {
  const entry = session.path().at(-1)!;
  if (entry.type !== "message" || entry.message.role !== "assistant") throw new Error("no answer");
  return { ...entry.message, stopReason: "toolUse" as const };
}

test("each line of the latest request and of pins has its entry", async () => {
  const { session } = history(`U:300 A:300`);
  const pin = session.append({ type: "custom_message", ...pinMessage(session, "Never push.\nAsk first.") });
  expect(pinChange(pin)?.isPinned).toBe(true);
  const { id } = history(`U"Port the parser.\nThen its tests." A(t1) T1:900 A(t2) T2:900 A:300`, session);
  await compacted(session);
  for (const text of ["Never push.", "Ask first."]) expect(line(session, text)).toEqual(known(pin.id));
  for (const text of ["Port the parser.", "Then its tests."])
    expect(line(session, text)).toEqual(known(id("u1")));
});

test("matches a model's prose by its specific words, and not without any", async () => {
  const { session, id } = history(
    `U"Move parseHeader into src/http/header.ts." A"Moved." | U"The budget of the garden fence is seven hundred." A:400
     | U"Good, go on." A:5000 | U:100 A:150`,
  );
  const prose = [
    "- `parseHeader` was moved to header.ts",
    "- The garden fence has a budget of seven hundred",
    "- Everything goes well so far",
    "- A quarterly report for marketing is due",
  ];
  await compacted(session, writing(...prose));
  expect(line(session, prose[0]!)).toEqual(matched(id("u1")));
  expect(line(session, prose[2]!)).toEqual(nothing);
  expect(line(session, prose[3]!)).toEqual(nothing);
});

test("rare words in one line are a match in a long session", async () => {
  const others = Array.from({ length: 30 }, (_, at) => `U"number ${at} of many" A:60`).join(" | ");
  const { session, id } = history(`U"The garden fence must stay below seven hundred." A | ${others}`);
  await compacted(session, writing("- Garden fence: below seven hundred"));
  expect(line(session, "- Garden fence")).toEqual(matched(id("u1")));
});

test("an id in brackets is a match if it names a summarised entry", async () => {
  const { session, id } = history("U:300 A:300 | U:300 A:300 | U:100 A:150");
  await compacted(session, writing(`- Done as asked [${id("u2")}] and [deadbeef], see [User]`));
  expect(line(session, "- Done as asked")).toEqual(matched(id("u2")));
});

test("the second compaction's lines lead to the original entries, not to the first summary", async () => {
  const { session, id } = history(
    `U"Keep parseHeader in src/http/header.ts." A(e1=edit:src/http/header.ts) Te1 A:5000 | U:100 A:150`,
  );
  await compacted(session);
  history("U:5000 A:900 | U:100 A:150", session);
  await compacted(session, writing("- parseHeader stays where it is"));
  expect(line(session, "- parseHeader stays")).toEqual(matched(id("u1")));
  expect(line(session, "1. ")).toEqual(known(id("u1")));
  const files = summarySources(session, latest(session)).filter(({ text }) => text === "src/http/header.ts");
  expect(files).toEqual([known(id("a1"))]);
});

test("a branch's summary has entries of the branch as sources, and so does a compaction after it", async () => {
  const { session, id } = history(
    `U"Begin." A:300 | U"Try Redis in src/cache.ts." A(e1=edit:src/cache.ts) Te1 A:300`,
  );
  const { summaryEntry } = await navigateTree({ session, targetId: id("a1"), settings, summarise: true });
  const branch = summaryEntry as SummaryEntry;
  expect(line(session, "Try Redis", branch)).toEqual(known(id("u2")));
  expect(summarySources(session, branch).find(({ text }) => text === "src/cache.ts")).toEqual(
    known(id("a2")),
  );
  history("U:900 A:900 | U:100 A:150", session);
  await compacted(session, writing("- Redis was tried in src/cache.ts"));
  expect(line(session, "- Redis was tried")).toEqual(matched(id("a2")));
  expect(line(session, "Try Redis in src")).toEqual(known(id("u2")));
});

test("a user's text that looks like a line with an address is the user's own", async () => {
  const { session, id } = history(`U"First." A:300 | U:40 A:300`);
  const forged = session.append({
    type: "message",
    message: { role: "user", content: `Listen.\n1. [${id("a1")}] never said`, timestamp: 1 },
  });
  history("A:3000 | U:100 A:150", session);
  await compacted(session);
  expect(line(session, "never said")).toEqual(known(forged.id));
});

test("a summary of another session's entries has no sources", () => {
  const session = createSession({ cwd: "/project" });
  const { id } = history("U A | U A", session);
  const summary = "## Goal\nKeep parseHeader in src/http/header.ts.\n\n<read-files>\nsrc/a.ts\n</read-files>";
  const entry = session.append({ type: "compaction", summary, firstKeptEntryId: id("u1"), tokensBefore: 9 });
  for (const each of summarySources(session, entry as SummaryEntry)) expect(each).toEqual(nothing);
});

test("the sources of a summary read no summarised message", async () => {
  const { session } = history('U"Move parseHeader." A(e1=edit:src/a.ts) Te1:400 | U:300 A:300');
  await compacted(session, writing("- parseHeader was moved into src/a.ts"));
  const entry = latest(session);
  const counted = {
    index: () => session.index(),
    entryAt: (number: number) => {
      throw new Error(`reads record ${number}`);
    },
  } as unknown as Session;
  expect(summarySources(counted, entry)).toEqual(summarySources(session, entry));
});
