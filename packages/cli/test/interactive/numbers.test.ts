import { stripVTControlCharacters } from "node:util";
import { requestOverhead } from "@bonsai-agent/agent/host";
import { compactionSettings, runCompaction } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { footerLines } from "../../src/interactive/status/footer.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { contextReport } from "../../src/views/context-report.ts";
import { contextReportView } from "../../src/views/context-view.ts";
import { renderLine } from "../../src/views/line.ts";

const systemPrompt = "You are Bonsai.";
const tools = [{ name: "read", description: "Reads a file.", parameters: { type: "object" } }];

const cases = fc.record({
  tree: treeArbitrary({ maxTokens: 800 }),
  last: fc.constantFrom("", "U:200 A:10@%d", "U:200 A:10@%d | U:90"),
  reportedTokens: fc.integer({ min: 1, max: 90_000 }),
  contextWindow: fc.constantFrom(0, 3_000, 20_000, 100_000),
  estimator: fc.constantFrom("calibrated" as const, "chars4" as const),
  keepTokens: fc.integer({ min: 0, max: 1_500 }),
});
type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

function opened({ tree, last, reportedTokens }: Case): Session {
  return history(`${tree} | ${last.replace("%d", String(reportedTokens))}`).session;
}

function reportOf(session: Session, { contextWindow, estimator }: Case) {
  const settings = compactionSettings({}, { estimator });
  return contextReport({
    nowMs: 0,
    session,
    overhead: { systemPrompt, tools },
    settings,
    model: { contextWindow, maxOutputTokens: 1_000 },
  });
}

interface Row {
  name: string;
  tokens: string;
  /** `<1%` counts as nothing, `>99%` as all. */
  percent: number;
}

function rowsOf(text: string): Row[] {
  const rows = text.matchAll(/^(?:[^ ] )? *([a-z ]+?) +(~?[\d,]+) +([<>]?)(\d+)%/gm);
  return [...rows].map(([, name, tokens, near, share]) => {
    return { name: name!, tokens: tokens!, percent: near === "<" ? 0 : near === ">" ? 100 : Number(share) };
  });
}

const amount = (tokens: string) => Number(tokens.replaceAll(/[~,]/g, ""));
const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);

test("Law: the rows of /context add up to its total, in tokens and in percent; the headline and the footer have the same", () => {
  fc.assert(
    fc.property(cases, (each) => {
      const report = reportOf(opened(each), each);
      const text = [...contextReportView(report, 120)].map((line) => renderLine(line, false)).join("\n");
      const rows = rowsOf(text);
      const isOutside = ({ name }: Row) => ["free", "reserve", "total"].includes(name);
      const parts = rows.filter((row) => !isOutside(row));
      const total = rows.find(({ name }) => name === "total")!;
      const left = rows.filter((row) => isOutside(row) && row !== total);
      expect(amount(total.tokens)).toBe(report.totalTokens);
      expect(total.tokens.startsWith("~")).toBe(report.estimatedTokens > 0);
      expect(sum(parts.map(({ tokens }) => amount(tokens)))).toBe(report.totalTokens);
      expect(parts.every(({ tokens }) => tokens.startsWith("~"))).toBe(true);
      expect(sum(parts.map(({ percent }) => percent))).toBe(total.percent);
      const { contextWindow: windowTokens } = each;
      const [, headTokens, headPercent] =
        /^Context: (~?[\d,]+) (?:of [\d,]+ tokens \(([<>]?\d+%)\)|tokens?,)/.exec(text)!;
      expect(headTokens).toBe(total.tokens);
      if (windowTokens === 0) {
        expect(total.percent).toBe(report.totalTokens === 0 ? 0 : 100);
        return;
      }
      if (report.totalTokens <= windowTokens) {
        expect(total.percent + sum(left.map(({ percent }) => percent))).toBe(100);
        expect(sum([total, ...left].map(({ tokens }) => amount(tokens)))).toBe(windowTokens);
      }
      const [, footer] = footerLines(
        {
          ...{ folder: "~", statuses: [], model: { provider: "a", id: "b" } },
          ...{ tokens: report.totalTokens, windowTokens },
          isEstimate: report.estimatedTokens > 0,
        },
        120,
        makeTheme("none"),
      ).map(stripVTControlCharacters);
      expect(footer).toContain(` ${headPercent} `);
      expect(footer!.includes("~")).toBe(headTokens!.startsWith("~"));
      const [, bar] = /([━┄]+)/.exec(footer!)!;
      expect(bar!.includes("┄")).toBe(report.totalTokens < windowTokens);
    }),
  );
});

test("Law: /context says right after a compaction what the compaction said", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (each) => {
      const session = opened(each);
      const { estimator, keepTokens: keepRecentTokens } = each;
      const settings = compactionSettings(
        { keepRecentTokens, mask: { protectTokens: 2_000, minimumTokens: 500 } },
        { estimator },
      );
      const before = reportOf(session, each);
      const result = await runCompaction({
        session,
        settings,
        fixedTexts: () => requestOverhead({ systemPrompt, tools }).texts,
      });
      const after = reportOf(session, each);
      expect([result.tokensBefore, result.estimatedTokensBefore]).toEqual([
        before.totalTokens,
        before.estimatedTokens,
      ]);
      expect(after.totalTokens).toBe(result.tokensAfter);
      if (result.status === "compacted" || result.status === "masked")
        expect(after.estimatedTokens).toBe(after.totalTokens);
    }),
  );
});
