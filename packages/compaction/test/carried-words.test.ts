import { Lifecycle } from "@bonsai-agent/lifecycle";
import { emptyUsage, estimateTokens } from "@bonsai-agent/messages";
import {
  customTypes,
  MemoryStore,
  openSession,
  type Session,
  type SessionStore,
} from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import {
  type CompactionEvents,
  type CompactionSettingsInput,
  compactionEventRules,
  compactionSettings,
  digestSummariser,
  navigateTree,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200, mask: { enabled: false } });
const RULE = "Never touch src/legacy/old.ts, another team owns it.";

/** One stretch of work, the last turn of which is kept. */
function work(session: Session, round: number): void {
  const turns = [
    `U"Take port 84${round}3 for src/part-${round}.ts." A(w${round}=edit:src/part-${round}.ts) Tw${round}:3000 A:3000`,
    `U"Part ${round} looks good, on with the next." A:150`,
  ];
  history(turns.join(" | "), session);
}

function begun(): Session {
  return history(`U"${RULE}" A:900 | U:900 A:900`).session;
}

async function compact(session: Session, options: Partial<RunCompactionOptions> = {}): Promise<string> {
  const result = await runCompaction({ session, settings, ...options });
  expect(result.status, JSON.stringify(result.failures)).toBe("compacted");
  return result.summary ?? "";
}

/** The lines of a block of a summary. */
function block(summary: string, tag: string): string[] {
  const [body] = summary.split(`\n<${tag}>\n`)[1]?.split(`\n</${tag}>`, 1) ?? [];
  return body?.split("\n") ?? [];
}

const words = (summary: string) => block(summary, "user-words");
/** How often the user's words or the latest request say it. */
const times = (summary: string, text: string) =>
  [...words(summary), ...block(summary, "latest-request")].join("\n").split(text).length - 1;

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
  const inner = new MemoryStore(text);
  const read = { bytes: 0 };
  const store: SessionStore = {
    file: undefined,
    readOnly: undefined,
    size: () => inner.size(),
    read(target, offset) {
      const count = inner.read(target, offset);
      read.bytes += count;
      return count;
    },
    append: (line) => inner.append(line),
    flush: () => {},
    close: () => {},
  };
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

async function withExtension(carry?: ReadonlyArray<"userWords" | "terms">) {
  const session = begun();
  work(session, 1);
  const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
  const seen: string[] = [];
  const off = lifecycle.on("session_before_compact", ({ preparation }) => {
    const { firstKeptEntryId, tokensBefore, userWords } = preparation;
    seen.push(...userWords.map(({ text }) => text));
    return {
      compaction: {
        summary: "Theirs.",
        firstKeptEntryId,
        tokensBefore,
        details: { mine: 1 },
        ...(carry && { carry }),
      },
    };
  });
  const summary = await compact(session, { lifecycle });
  off();
  return { session, summary, seen };
}

test("an extension's own summary is given the words, and shows them only where it asks for them", async () => {
  const plain = await withExtension();
  expect(plain.seen).toContain(RULE);
  expect(plain.summary).toBe("Theirs.");
  const asking = await withExtension(["userWords"]);
  expect(times(asking.summary, RULE)).toBe(1);
  expect(block(asking.summary, "terms")).toEqual([]);
});

test("behind an extension's summary the record stands in an entry of its own, and the next compaction goes on from it", async () => {
  const { session } = await withExtension();
  expect(session.projection().compaction?.details).toEqual({ mine: 1 });
  const beside = session
    .path()
    .filter((entry) => entry.type === "custom" && entry.customType === customTypes.beside);
  expect(beside).toHaveLength(1);
  work(session, 2);
  const summary = await compact(session);
  for (const said of [RULE, "Take port 8413", "Take port 8423"]) expect(times(summary, said)).toBe(1);
});

test("the words take a tenth of any window at most", () =>
  everyRow([8_000, 16_000, 32_000, 200_000])(async (contextWindow) => {
    const said = Array.from(
      { length: 150 },
      (_, at) => `U"Paint wall ${at} of the house in colour number ${at * 7}, as we said." A:20`,
    );
    const { session } = history(`${said.join(" | ")} | U:100 A:300`);
    const summary = await compact(session, { model: { contextWindow } });
    expect(estimateTokens(words(summary).join("\n"))).toBeLessThanOrEqual(
      Math.min(4_000, contextWindow / 10) + 60,
    );
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

test("a digest that carries no words beside it quotes them in itself", async () => {
  const session = begun();
  work(session, 1);
  const summary = await compact(session, { settings: { ...settings, words: { maxTokens: 0 } } });
  expect(words(summary)).toEqual([]);
  expect(summary).toContain(RULE);
});

test("a model is told that the words are carried and need not be repeated", async () => {
  const session = begun();
  work(session, 1);
  const summariser = scriptedSummariser();
  await compact(session, { summariser });
  expect(summariser.requests[0]).toMatchObject({ carriesUserWords: true });
  expect(summariser.requests[0]?.prompt.user).toMatch(/word for word/i);
});

const FAILED = "Error: expected 3 to be 4";
/** A span with two failures and two deeds, and a model that tells one of each. */
function halfTold(): { session: Session; summariser: ReturnType<typeof scriptedSummariser> } {
  const { session } = history(`U"${RULE}" A:900`);
  for (const [at, [command, failed]] of COMMANDS.entries()) {
    const call = { type: "toolCall" as const, id: `c${at}`, name: "bash", arguments: { command } };
    session.append([
      {
        type: "message",
        message: {
          role: "assistant",
          content: [call],
          api: "x",
          provider: "x",
          model: "x",
          usage: emptyUsage(),
          stopReason: "toolUse",
          timestamp: 1,
        },
      },
      {
        type: "message",
        message: {
          role: "toolResult",
          toolCallId: `c${at}`,
          toolName: "bash",
          content: [{ type: "text", text: failed ? `${FAILED}\n\nCommand exited with code 1` : "ok" }],
          isError: failed,
          timestamp: 1,
        },
      },
    ]);
  }
  history("A:4000 | U:100 A:300", session);
  const summariser = scriptedSummariser([
    (request) => ({
      text: `${wellFormed(request)}\nPushed: git push origin main. pnpm vitest run test/one.test.ts fails.`,
    }),
  ]);
  return { session, summariser };
}

const COMMANDS: ReadonlyArray<[command: string, failed: boolean]> = [
  ["git push origin main", false],
  ["npm publish --tag next", false],
  ["pnpm vitest run test/one.test.ts", true],
  ["pnpm vitest run test/two.test.ts", true],
];

test.each([
  ["off", undefined, false],
  ["report", 0, false],
  ["putBack", 1, true],
] as const)(
  "a model's summary that drops half, with the loss check %s",
  async (lossCheck, putBack, isBack) => {
    const { session, summariser } = halfTold();
    const summary = await compact(session, { summariser, settings: { ...settings, lossCheck } });
    const { manifest } = session.projection().compaction!.details as { manifest: { loss?: object } };
    if (putBack === undefined) expect(manifest.loss).toBeUndefined();
    else
      expect(manifest.loss).toMatchObject({
        failing: { kept: 1, lost: 1, putBack },
        irreversible: { kept: 1, lost: 1, putBack },
      });
    const back = block(summary, "put-back").join("\n");
    for (const lost of ["npm publish --tag next", "test/two.test.ts"])
      expect(back.includes(lost), lost).toBe(isBack);
    expect(back).not.toContain("git push");
  },
);

test("a digest that was wrapped is a digest: it owes no sections, and nothing is put back behind it", async () => {
  const digest = digestSummariser();
  const wrapped = {
    ...digest,
    summarise: (request: Parameters<typeof digest.summarise>[0]) => digest.summarise(request),
  };
  const { session } = halfTold();
  const summary = await compact(session, { digest: wrapped });
  expect(summary).toContain("npm publish --tag next");
  expect(block(summary, "put-back")).toEqual([]);
});
