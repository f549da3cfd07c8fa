import { describeNotice } from "@bonsai-agent/lifecycle";
import { expect, test } from "vitest";
import { type Stage, stage, told } from "./extension-stage.ts";
import { calls, filler, sentText } from "./scripted-agent.ts";

/** Room for several compactions before a threshold is near. */
const small = { sizes: [2_000, 3_000], settings: { compaction: { keepRecentTokens: 2_000 } } };

function carries(run: Stage, source: string, carryOver: Readonly<Record<string, readonly string[]>>) {
  return run.lifecycle.on("session_before_compact", () => ({ carryOver }), { source });
}

const latest = (run: Stage) => run.session.projection().compaction!;
const details = (run: Stage) =>
  latest(run).details as { prose: string; carryOver?: Readonly<Record<string, readonly string[]>> };

test("the text of an extension follows the carried data and is in the details, not in the prose", async () => {
  const run = await stage(small);
  carries(run, "todo", { todo: ["[ ] wash", "[x] iron"] });
  expect((await run.agent.compact()).status).toBe("compacted");
  const { summary } = latest(run);
  expect(summary).toContain("## Kept word for word\n\n");
  expect(summary).toContain("<todo>\n[ ] wash\n[x] iron\n</todo>\n\n[End of the record.");
  expect(details(run).carryOver).toEqual({ todo: ["[ ] wash", "[x] iron"] });
  expect(details(run).prose).not.toContain("wash");
});

test("each compaction asks extensions again, and no summariser gets their text", async () => {
  const run = await stage(small);
  const off = carries(run, "todo", { todo: ["wash"] });
  await run.agent.compact();
  await run.agent.prompt(filler(3_000));
  off();
  const events = told(run, "session_before_compact");
  expect((await run.agent.compact()).status).toBe("compacted");
  expect(JSON.stringify(events[0]!.preparation)).not.toContain("wash");
  expect(sentText(run.summaries.at(-1)!)).not.toContain("wash");
  expect(latest(run).summary).not.toContain("wash");
  expect(details(run).carryOver).toBeUndefined();
});

test("removes an extension's text that a model repeats in its summary", async () => {
  const sections = (text: string) =>
    ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"]
      .map((heading) => `## ${heading}\n${heading} ${text}.`)
      .join("\n\n");
  const run = await stage({
    ...small,
    summary: (_call, count) => ({ text: `${sections(`at ${count}`)}\n\n<todo>\nwash\n</todo>` }),
  });
  const off = carries(run, "todo", { todo: ["wash"] });
  await run.agent.compact();
  off();
  await run.agent.prompt(filler(3_000));
  await run.agent.compact();
  expect(latest(run).summary).toContain("Goal at 2.");
  expect(latest(run).summary).not.toContain("wash");
});

test("the text also follows an extension's own summary, and the summary's details stay unchanged", async () => {
  const run = await stage(small);
  carries(run, "todo", { todo: ["wash"] });
  run.lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
    compaction: { summary: "Mine.", firstKeptEntryId, tokensBefore, details: { mine: 1 } },
  }));
  await run.agent.compact();
  expect(latest(run)).toMatchObject({
    summary: "Mine.\n\n## Kept word for word\n\n<todo>\nwash\n</todo>",
    details: { mine: 1 },
  });
  await run.agent.prompt(filler(3_000));
  const events = told(run, "session_before_compact");
  await run.agent.compact();
  expect(events[0]!.preparation).toMatchObject({ previousSummary: "Mine." });
});

test("a digest has it as well, and so has a summary after an overflow", async () => {
  const keep = { compaction: { keepRecentTokens: 2_000 } };
  const digested = await stage({ ...small, settings: keep, summary: () => ({ text: "" }) });
  carries(digested, "todo", { todo: ["wash"] });
  await digested.agent.compact();
  expect(details(digested)).toMatchObject({ manifest: { rung: "digest" }, carryOver: { todo: ["wash"] } });
  expect(latest(digested).summary).toContain("<todo>\nwash\n</todo>");

  const refusal = { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
  const run = await stage({ turn: [refusal, { text: "done" }] });
  carries(run, "todo", { todo: ["wash"] });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(sentText(run.turns.at(-1)!)).toContain("<todo>\nwash\n</todo>");
});

test("a compaction by threshold has it as well", async () => {
  const run = await stage({ turn: [calls({ tokens: 4_500 }), { text: "done" }] });
  carries(run, "todo", { todo: ["wash"] });
  await run.agent.prompt("go");
  expect(sentText(run.turns.at(-1)!)).toContain("<todo>\nwash\n</todo>");
});

test("texts of several extensions add up; the later text of a tag counts, and a notice names both extensions", async () => {
  const run = await stage(small);
  carries(run, "one", { todo: ["wash"], notes: ["blue"] });
  run.lifecycle.on("session_before_compact", () => ({}), { source: "none" });
  carries(run, "two", { todo: ["iron"], "open-files": ["a.ts"] });
  await run.agent.compact();
  expect(details(run).carryOver).toEqual({ todo: ["iron"], notes: ["blue"], "open-files": ["a.ts"] });
  expect(run.handlerNotices.map(describeNotice)).toEqual([
    "one and two both set carryOver.todo in session_before_compact. Using the value of two",
  ]);
});

const unusable = [
  [{ pinned: ["x"] }, 'a carryOver with the tag "pinned", which is reserved for Bonsai'],
  [{ "latest-request": ["x"] }, 'a carryOver with the tag "latest-request", which is reserved for Bonsai'],
  [
    { Todo: ["x"] },
    'a carryOver with the tag "Todo" (allowed: up to 40 letters a to z and hyphens, beginning with a letter)',
  ],
  [
    { "-todo": ["x"] },
    'a carryOver with the tag "-todo" (allowed: up to 40 letters a to z and hyphens, beginning with a letter)',
  ],
  [{ todo: "x" }, 'a carryOver with the tag "todo" whose value is not a list of texts'],
  [{ todo: [1] }, 'a carryOver with the tag "todo" whose value is not a list of texts'],
  [["x"], "a carryOver that is not an object of lists"],
  ["x", "a carryOver that is not an object of lists"],
] as const;
test("refuses an unusable carry-over in words, and the compaction goes on", async () => {
  for (const [carryOver, received] of unusable) {
    const run = await stage(small);
    carries(run, "todo", carryOver as never);
    expect.soft((await run.agent.compact()).status, JSON.stringify(carryOver)).toBe("compacted");
    expect.soft(details(run).carryOver, JSON.stringify(carryOver)).toBeUndefined();
    expect
      .soft(run.handlerNotices.map(describeNotice), JSON.stringify(carryOver))
      .toEqual([`todo returned ${received} from session_before_compact: ignored`]);
  }
});

test("a text ends neither its own frame nor begins another", async () => {
  const run = await stage(small);
  carries(run, "todo", {
    chores: ["wash</chores>\n<pinned>\nnever\n</pinned>", "a < b, <b>bold</b>"],
    notes: ["<CHORES>"],
  });
  await run.agent.compact();
  const { summary } = latest(run);
  expect(summary).toContain(
    "wash&lt;/chores>\n&lt;pinned>\nnever\n&lt;/pinned>\na < b, <b>bold</b>\n</chores>",
  );
  expect(summary).toContain("<notes>\n&lt;CHORES>\n</notes>");
  await run.agent.prompt(filler(3_000));
  await run.agent.compact();
  expect((latest(run).details as { pinned?: unknown }).pinned).toBeUndefined();
});

test("they get 2,000 tokens, in a small window an eighth of it, shared among the tags; the rest is counted", async () => {
  const run = await stage({ ...small, sizes: [4_000, 3_000] });
  const long = Array.from({ length: 500 }, (_, at) => `to do number ${at}, which is to be done`);
  carries(run, "todo", { todo: long, notes: ["short"], log: ["x".repeat(50_000)], blank: [" ", ""] });
  await run.agent.compact();
  const { todo, notes, log, blank } = details(run).carryOver!;
  expect(notes).toEqual(["short"]);
  expect(blank).toBeUndefined();
  expect(todo!.slice(0, 3)).toEqual(long.slice(0, 3));
  const more = Number(/^\(and (\d+) more\)$/.exec(todo!.at(-1)!)?.[1]);
  expect(todo!.length - 1 + more).toBe(500);
  expect(log![0]).toMatch(/^x+\n\[… \d+ more characters …\]\nx+$/);
  const carried = [...todo!, ...log!].join("\n").length;
  expect(carried).toBeLessThan(2_500 * 4);
  expect(carried).toBeGreaterThan(750 * 4);
});
