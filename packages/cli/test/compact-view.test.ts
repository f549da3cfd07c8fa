import {
  type CompactionSettingsInput,
  compactionSettings,
  planCompaction,
  runCompaction,
} from "@bonsai-agent/compaction";
import type { CatalogueModel } from "@bonsai-agent/models";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactView } from "../src/views/compact-view.ts";
import { renderLine } from "../src/views/line.ts";
import { messagesBefore } from "../src/views/plan-view.ts";

type PlanOptions = Omit<Parameters<typeof planCompaction>[0], "model"> & {
  model: CatalogueModel | undefined;
};

function planOf({ model, ...options }: PlanOptions) {
  const result = planCompaction({ ...options, model: model ?? {}, reason: "manual" });
  const before = messagesBefore(options.session, options.replacesLatest === true);
  return { result, lines: (width: number) => compactView({ result, before, model, width }) };
}

test("a plan shows requests and price; an unknown price is not free", () => {
  const { session } = history("U:8000 A:8000 | U:30000 A:4000");
  const settings = compactionSettings({});
  const model: CatalogueModel = {
    ...{ provider: "some", id: "model", name: "Some model", api: "openai-chat", contextWindow: 100_000 },
    ...{ input: ["text"], reasoning: false, baseUrl: "http://127.0.0.1:1" },
  };
  const shown = (prices?: CatalogueModel["usdPerMillionTokens"]) => {
    const priced = prices === undefined ? model : { ...model, usdPerMillionTokens: prices };
    const summariser = { name: "some/model", contextWindow: 100_000, maxOutputTokens: 32_000 };
    const { lines } = planOf({
      ...{ session, settings, model: priced, summariser },
      fixedTexts: () => [],
    });
    return [...lines(120)].map((line) => renderLine(line, false)).join("\n");
  };
  expect(shown()).toMatch(/1 request to some\/model: ~[\d,]+ tokens of input; cost unknown\./);
  const text = shown({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 });
  expect(text).toMatch(/tokens of input; at most \$[\d.]+\./);
  expect(text).toMatch(/→ ~[\d,]+ tokens/);
});

test("a plan takes a cut and replaces the latest compaction", async () => {
  const { session, id } = history("U:8000 A:8000 | U:300 A:400 | U:30000 A:4000");
  const settings = compactionSettings({ keepRecentTokens: 2_000 });
  const asked = { session, settings, model: undefined, fixedTexts: () => [] };
  const shown = (more: object) =>
    [...planOf({ ...asked, ...more }).lines(120)].map((line) => renderLine(line, false)).join("\n");
  expect(planOf({ ...asked, firstKeptEntryId: id("u2") }).result.firstKeptEntryId).toBe(id("u2"));
  expect(() => planOf({ ...asked, firstKeptEntryId: id("u1") })).toThrow(/cannot start at entry/);
  await runCompaction({ session, settings, firstKeptEntryId: id("u2") });
  const again = planOf({ ...asked, replacesLatest: true, firstKeptEntryId: id("u3") }).result;
  expect(again.summarizedEntryIds).toEqual(["u1", "a1", "u2", "a2"].map(id));
  expect(shown({ replacesLatest: true, firstKeptEntryId: id("u3") })).toMatch(/summarised +4 items/);
});

test("a plan lists the carried entries and those left to the summary", () => {
  const notation = "U:8000 A(t1=bash:make_all):900 T1!:900 A:8000 | U:30000 A:4000";
  const preview = (settings: CompactionSettingsInput) =>
    planOf({
      session: history(notation).session,
      settings: compactionSettings(settings),
      model: undefined,
      fixedTexts: () => [],
    });
  const shown = (settings: CompactionSettingsInput, width: number) =>
    [...preview(settings).lines(width)].map((line) => renderLine(line, false)).join("\n");
  expect(shown({}, 120)).toMatch(
    /\n\nKept word for word: \d+ user messages?\. Exact terms recorded: [\d,]+\.\n/,
  );
  const bare = shown({ terms: { maxTokens: 0 }, lossCheck: "report" }, 40);
  expect(bare).toMatch(
    /\nDepends on the summary: 1 of 1 term\.\nTerms that depend on the summary, most\nused first: make_all \([0-9a-f]{8}\)\.\n/,
  );
  expect(shown({ preset: "pi" }, 120)).not.toContain("Depends on the summary");
});
