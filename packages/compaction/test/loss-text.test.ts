import { createSession, type Entry, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LossReport } from "../src/details.ts";
import type { BeforeCompactResult } from "../src/events.ts";
import type { SummaryLoss } from "../src/host.ts";
import { compactionSettings, lossLines, planCompaction, runCompaction, summaryLoss } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const none = { kept: 0, lost: 0, putBack: 0 };
const nothing: LossReport = {
  failing: none,
  irreversible: none,
  openTodos: none,
  requests: none,
  terms: none,
  lostTerms: [],
};
const kept: LossReport = {
  ...nothing,
  failing: { kept: 3, lost: 0, putBack: 0 },
  openTodos: { kept: 1, lost: 0, putBack: 0 },
  terms: { kept: 100, lost: 0, putBack: 0 },
};
const lost: LossReport = {
  failing: { kept: 1, lost: 2, putBack: 2 },
  irreversible: { kept: 0, lost: 1, putBack: 0 },
  openTodos: { kept: 4, lost: 0, putBack: 0 },
  requests: { kept: 0, lost: 1, putBack: 1 },
  terms: { kept: 90, lost: 10, putBack: 7 },
  lostTerms: [{ term: "SESSION_TTL", entryId: "aaaa0001" }, { term: "src/a.ts" }],
};

const carried = { words: 12, wordsLeftOut: 0, knownTerms: 1 };

describe("in words", () => {
  const rows: [string, SummaryLoss, boolean, string[]][] = [
    ["nothing known", {}, false, []],
    ["nothing to check", { loss: nothing }, false, []],
    ["carried", { carried }, false, ["Kept word for word: 12 user messages. Exact terms recorded: 1."]],
    [
      "words left out",
      { carried: { words: 1, wordsLeftOut: 1_200, knownTerms: 0 } },
      false,
      ["Kept word for word: 1 user message, 1,200 left out. Exact terms recorded: 0."],
    ],
    [
      "nothing lost",
      { loss: kept },
      false,
      ["The check found nothing missing: 3 failing commands, 1 open to-do, 100 terms."],
    ],
    [
      "nothing lost, in a plan",
      { loss: kept },
      true,
      ["Kept in any case: 3 failing commands, 1 open to-do, 100 terms."],
    ],
    [
      "lost",
      { loss: lost },
      false,
      [
        "! Missing from the summary: 1 of 1 open request (added), 2 of 3 failing commands (added), 1 of 1 irreversible command, 10 of 100 terms (7 added).",
        "! Missing terms, most used first: SESSION_TTL (aaaa0001), src/a.ts and 1 more.",
      ],
    ],
    [
      "lost, in a plan",
      { loss: lost },
      true,
      [
        "! Depends on the summary: 1 of 1 open request (added if missing), 2 of 3 failing commands (added if missing), 1 of 1 irreversible command, 10 of 100 terms (7 added if missing).",
        "Terms that depend on the summary, most used first: SESSION_TTL (aaaa0001), src/a.ts and 1 more.",
      ],
    ],
    [
      "all put back",
      { loss: { ...nothing, failing: { kept: 0, lost: 1, putBack: 1 } } },
      false,
      ["Missing from the summary: 1 of 1 failing command (added)."],
    ],
  ];
  test.each(rows)("%s", (_, known, isPlan, lines) => {
    const said = lossLines(known, { isPlan }).map(({ text, isLoss }) => `${isLoss ? "! " : ""}${text}`);
    expect(said).toEqual(lines);
  });
});

describe("the recorded loss", () => {
  test("an entry with a short model summary has the lost and the restored facts", async () => {
    const { entry, loss, carried } = await compacted();
    expect(loss!.failing).toEqual({ kept: 0, lost: 1, putBack: 1 });
    expect(carried).toMatchObject({ words: expect.any(Number), wordsLeftOut: 0 });
    expect(summaryLoss(entry!, undefined)).toEqual({ carried, loss });
  });

  test("a plan reports the loss of an empty summary", async () => {
    const session = longSession();
    const planned = planCompaction({ session, ...options });
    const { carried, loss } = await compacted(undefined, session);
    expect([planned.carried, planned.loss]).toEqual([carried, loss]);
  });

  test("an extension's own summary loses the facts that it does not carry", async () => {
    const { entry, loss, carried, session } = await compacted({});
    expect([carried, (entry!.details as object | undefined) ?? null]).toEqual([undefined, null]);
    expect(loss!.failing).toEqual({ kept: 0, lost: 1, putBack: 0 });
    expect(loss!.terms.lost).toBeGreaterThan(0);
    expect(summaryLoss(entry!, session.entry(entry!.parentId!))).toEqual({ carried: undefined, loss });
    const carrying = await compacted({ carry: ["userWords", "terms"] });
    expect(carrying.loss!.terms.lost).toBeLessThan(loss!.terms.lost);
  });

  test("checks a request with unfinished work, and skips an answered one", async () => {
    const task = 'U"Rename parseHeader in src/router.ts." A(t1) T1:4000 A(t2) T2:2000';
    const text = "## Request\nA renaming.\n\n## Done So Far\nAll of it.\n\n## Needed to Continue\n(none)";
    const lossOf = async (notation: string) => {
      const { session } = history(`U:900 A:900 | ${notation}`);
      const settings = compactionSettings({ keepRecentTokens: 500, mask: { enabled: false } });
      const summariser = scriptedSummariser([{}, { text }]);
      return (await runCompaction({ session, settings, model, summariser })).loss?.requests;
    };
    expect(await lossOf(`${task} A(t3) T3:100`)).toEqual({ kept: 0, lost: 1, putBack: 1 });
    expect(await lossOf(`${task} A:100`)).toEqual(none);
  });

  test("reports no loss without the check", async () => {
    const session = longSession();
    const settings = compactionSettings({ ...asked, lossCheck: "off" });
    expect(planCompaction({ session, model, settings }).loss).toBeUndefined();
  });

  test("ignores a damaged record", () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, Number.NaN, -1, 1.5, "7"));
    const part = fc.oneof(odd, fc.record({ kept: odd, lost: odd, putBack: odd }), fc.constant(none));
    const report = fc.record(
      { failing: part, irreversible: part, openTodos: part, terms: part, lostTerms: odd },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(odd, report), odd, fc.boolean(), (loss, carried, isBeside) => {
        const at = { id: "aaaa0002", parentId: "aaaa0001", timestamp: "2026-01-01T00:00:00.000Z" };
        const summary = { summary: "S", firstKeptEntryId: "x", tokensBefore: 1 };
        const details = isBeside ? { own: true } : { manifest: { loss, carried } };
        const data = isBeside ? { loss } : loss;
        const before = { type: "custom", customType: "bonsai.beside", ...at, data } as unknown as Entry;
        const known = summaryLoss({ type: "compaction", ...at, ...summary, details }, before);
        for (const { text } of lossLines(known)) expect(text).not.toMatch(/NaN|undefined|-\d/);
      }),
    );
  });
});

const model = { contextWindow: 60_000 };
const asked = { keepRecentTokens: 2_000 };
const options = { model, settings: compactionSettings(asked), reason: "manual" as const };

/** A command that fails, and more terms than an index has room for; then what is kept. */
function longSession(): Session {
  const session = createSession({ cwd: "/project" });
  const add = (message: object) =>
    session.append({ type: "message", message: { timestamp: 1, ...message } as never });
  const names = Array.from({ length: 400 }, (_, at) => `retry_${at}_limit`);
  add({ role: "user", content: "Set the limits of src/limits.ts." });
  for (let at = 0; at < 10; at += 1) {
    const id = `t${at}`;
    const command = at === 9 ? "make check-limits" : `grep ${names.slice(at * 40, at * 40 + 40).join(" ")}`;
    const call = { type: "toolCall", id, name: "bash", arguments: { command } };
    add({ role: "assistant", content: [call], stopReason: "toolUse" });
    const isError = at === 9;
    const text = isError
      ? "make: *** [check-limits] Error 2\n\nCommand exited with code 2"
      : "x ".repeat(500);
    add({ role: "toolResult", toolCallId: id, toolName: "bash", content: [{ type: "text", text }], isError });
  }
  add({ role: "user", content: `What is left? ${"And so on. ".repeat(800)}` });
  add({ role: "assistant", content: [{ type: "text", text: "I see." }], stopReason: "stop" });
  return session;
}

/** By a model whose notes say nothing of it, or by an extension. */
async function compacted(
  custom?: Partial<NonNullable<BeforeCompactResult["compaction"]>>,
  session = longSession(),
) {
  const lifecycle = compactionLifecycle();
  if (custom !== undefined)
    lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
      compaction: { summary: "Some work was done.", firstKeptEntryId, tokensBefore, ...custom },
    }));
  const result = await runCompaction({ session, ...options, summariser: scriptedSummariser(), lifecycle });
  expect(result.status).toBe("compacted");
  return { ...result, session };
}
