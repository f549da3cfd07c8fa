import { emptyUsage } from "@bonsai-agent/messages";
import { customTypes, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { digestSummariser } from "../src/index.ts";
import { begun, block, compact, RULE, settings, times, words, work } from "./carried-work.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

async function withExtension(carry?: ReadonlyArray<"userWords" | "terms">) {
  const session = begun();
  work(session, 1);
  const lifecycle = compactionLifecycle();
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
      text: `${wellFormed(request)}\nPushed: git push origin main. pnpm vitest run test/one.test.ts fails: expected 3 to be 4.`,
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
