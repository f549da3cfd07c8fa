import { estimateTokens } from "@bonsai-agent/messages";
import type { EntryDraftWithId, Session } from "@bonsai-agent/session";
import { history, scripts, writtenTurns } from "@bonsai-agent/testkit";
import { decode, encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import {
  compactionSettings,
  digestSummariser,
  runCompaction,
  type Summariser,
  summarySections,
} from "../src/index.ts";

const settings = compactionSettings({ keepRecentTokens: 4_000 });
const model = { contextWindow: 200_000 };

/** Maximum tokens of a summary; the second bound applies after more than four compactions. */
const MAX_TOKENS = 8_000;
const MAX_LATER_TOKENS = 9_550;

/** The summary's tokens, by the highest of three counts: as a model has them, by script and by length. */
async function compactedTokens(session: Session, digest = digestSummariser()): Promise<number> {
  const { status, rung, summary = "" } = await runCompaction({ session, settings, model, digest });
  expect([status, rung]).toEqual(["compacted", "digest"]);
  return Math.max(encode(summary).length, estimateTokens(summary), Math.ceil(summary.length / 3.3));
}

/** Says as much as the built-in digest may at most, whatever there is to say. */
const talkative: Summariser = {
  name: "talkative",
  async summarise({ kind, maxSummaryTokens, previousSummary = "" }) {
    const allowed = Math.min(3_600, maxSummaryTokens) * (kind === "turnPrefix" ? 0.35 : 1);
    const headings = summarySections[kind].map((heading) => `## ${heading}`).join("\n");
    const lines = `${previousSummary}\n- Never change src/limits/payment-provider.ts beyond 4,096 rows.`
      .repeat(300)
      .slice(0, 40_000);
    const tokens = encode(`${headings}\n${lines}`).slice(0, Math.floor(allowed));
    return { text: decode(tokens), stopReason: "stop" };
  },
};

/** A day's work on very many files with long names. */
function work(session: Session, round: number, random: () => number): void {
  const turns = Array.from({ length: 12 }, (_, turn) => {
    const calls = Array.from({ length: 8 }, (_, at) => {
      const path = `packages/checkout-${round}/src/${random()}/payment-provider-${turn}-${at}.integration.test.ts`;
      return `A(c${round}x${turn}x${at}=${at % 2 === 0 ? "edit" : "read"}:${path}) T(c${round}x${turn}x${at}):120`;
    });
    const wish = `Please never rename step ${round}.${turn} and keep LIMIT_${turn}=${round * 7 + turn} in config/limits-${turn}.json`;
    return `U"${wish}" ${calls.join(" ")} A"Decided: step ${turn} uses src/${turn}/handler.ts because of ${round}."`;
  });
  history(turns.join(" | "), session);
}

test.each([
  ["the built-in digest", digestSummariser()],
  ["a digest that uses all its room", talkative],
])(
  "each summary of six compactions over many files stays within 8,000 tokens, and 9,550 after the fourth: %s",
  async (_, digest) => {
    const { session } = history("U A");
    let next = 17;
    const random = () => {
      next = (next * 48_271) % 2_147_483_647;
      return next % 1_000;
    };
    for (let round = 0; round < 6; round++) {
      work(session, round, random);
      const max = round < 4 ? MAX_TOKENS : MAX_LATER_TOKENS;
      expect(await compactedTokens(session, digest)).toBeLessThanOrEqual(max);
    }
  },
);

/** One script in the check, all with `pnpm laws`. */
const checkedScripts = process.env.LAW_RUNS
  ? scripts.filter((script) => script !== "latin")
  : (["han"] as const);

test.each(checkedScripts)(
  "each summary of six compactions in %s script stays within 9,550 tokens",
  async (script) => {
    const { session } = history("");
    for (let round = 0; round < 6; round++) {
      const messages = writtenTurns(script, { seed: round, turns: 20 });
      session.append(messages.map((message) => ({ type: "message", message })) as EntryDraftWithId[]);
      expect(await compactedTokens(session)).toBeLessThanOrEqual(MAX_LATER_TOKENS);
    }
  },
);

test.each([
  ["the built-in digest", digestSummariser()],
  ["a digest that uses all its room", talkative],
])(
  "a split turn's summary by %s keeps to the bound, also where the former one fills it",
  async (_, digest) => {
    const { session } = history("U A");
    const round = { next: 0 };
    work(session, 1, () => round.next++);
    work(session, 2, () => round.next++);
    history("X:6000", session);
    expect(await compactedTokens(session, digest)).toBeLessThanOrEqual(MAX_TOKENS);
    const steps = Array.from({ length: 90 }, (_, at) => `A(s${at}=edit:src/step-${at}.ts) T(s${at}):200`);
    history(`${steps.join(" ")} A`, session);
    expect(await compactedTokens(session, digest)).toBeLessThanOrEqual(MAX_TOKENS);
    expect(session.projection().compaction?.details).toMatchObject({ manifest: { splitTurn: true } });
  },
);
