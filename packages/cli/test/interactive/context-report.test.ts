import { compactionPresets, compactionSettings, thresholdTokens } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { everyRow, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemPrompt } from "../../../agent/src/prompt/system-prompt.ts";
import {
  type ContextReport,
  type ContextReportOptions,
  contextReport,
} from "../../src/views/context-report.ts";
import { contextReportView } from "../../src/views/context-view.ts";
import { lineWidth, renderLine } from "../../src/views/line.ts";

const chars4 = compactionSettings({}, { estimator: "chars4" });
const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const read = { name: "read", description: "Reads a file.", parameters: { type: "object" } };

function reportOf(notation: string | Session, options: Partial<ContextReportOptions> = {}): ContextReport {
  return contextReport({
    session: typeof notation === "string" ? history(notation).session : notation,
    overhead: { systemPrompt: "You are Bonsai.", tools: [read] },
    settings: chars4,
    model: { contextWindow: 100_000, maxOutputTokens: 8_000 },
    nowMs: 0,
    ...options,
  });
}

/** The overhead with this system prompt. */
const promptOf = (systemPrompt: string) => ({ overhead: { systemPrompt, tools: [read] } });

function textOf(report: ContextReport, width: number): string {
  return [...contextReportView(report, width)].map((line) => renderLine(line, false)).join("\n");
}

function tokensOf({ parts }: ContextReport): Record<string, number> {
  return Object.fromEntries(parts.map(({ name, tokens }) => [name, tokens]));
}

describe("context report", () => {
  test("notes of Bonsai and pins are no messages of extensions", () => {
    const { session } = history('U P"a pin" X"of an extension" A');
    session.append({
      type: "custom_message",
      customType: "bonsai.budget",
      content: "[Context]",
      display: false,
    });
    expect(Object.keys(tokensOf(reportOf(session)))).toEqual(
      expect.arrayContaining(["pin", "note", "extension"]),
    );
  });

  test("Invariant: the parts and unexplainedTokens add up to totalTokens", () => {
    const options = fc.record({
      tree: treeArbitrary({ maxTokens: 4_000 }),
      preset: fc.constantFrom(...(Object.keys(compactionPresets) as (keyof typeof compactionPresets)[])),
      enabled: fc.boolean(),
      economy: fc.constantFrom("off" as const, "auto" as const, 30_000),
      contextWindow: fc.constantFrom(0, 4_000, 32_000, 200_000, 1_000_000),
    });
    fc.assert(
      fc.property(options, ({ tree, preset, enabled, economy, contextWindow }) => {
        const settings = compactionSettings({ preset, enabled, economy });
        const model = { contextWindow, maxOutputTokens: 8_000, usdPerMillionTokens: prices };
        const report = reportOf(tree, { settings, model });
        const { parts, unexplainedTokens, totalTokens, window } = report;
        const explained = parts.reduce((sum, { tokens }) => sum + tokens, 0);
        expect(explained + unexplainedTokens).toBe(totalTokens);
        expect(unexplainedTokens).toBeGreaterThanOrEqual(0);
        expect(parts.every(({ tokens, items }) => tokens > 0 && items > 0)).toBe(true);
        expect(window === undefined).toBe(contextWindow === 0);
        if (window !== undefined) {
          const used = Math.min(totalTokens, contextWindow);
          expect(used + window.freeTokens + window.reserveTokens).toBe(contextWindow);
        }
      }),
    );
  });

  test("Law: every line of the view fits its screen", () => {
    const trees = treeArbitrary({ maxTokens: 4_000 });
    fc.assert(
      fc.property(trees, fc.integer({ min: 40, max: 200 }), (tree, width) => {
        for (const line of contextReportView(reportOf(tree), width))
          expect(lineWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("each kind of message has its part, in the order of the request", () => {
    const report = reportOf("U:10 A:5 | U:20 B X S U:30 A(t1=read:a.ts):7 T1:40 A:3 | M(t1)");
    expect(report.parts.map(({ name }) => name)).toEqual([
      "system prompt",
      "tools",
      "branch",
      "user",
      "assistant",
      "result",
      "command",
      "extension",
    ]);
    expect(report.parts.find(({ name }) => name === "result")).toMatchObject({ items: 1, maskedItems: 1 });
    expect(report.parts.find(({ name }) => name === "user")).toMatchObject({ items: 3, tokens: 60 });
  });

  test("skills count for themselves", () => {
    const skill = (name: string) => ({
      ...{ name, description: `What ${name} does.`, path: `/s/${name}/SKILL.md`, folder: `/s/${name}` },
      ...{ isForModel: true, isForUser: true, readable: undefined },
      place: { path: "/s", origin: "user" as const },
    });
    const prompt = (skills: ReturnType<typeof skill>[]) =>
      systemPrompt({
        cwd: "/p",
        tools: [read as never],
        skills,
        instructions: [],
        date: "2026-11-21",
        platform: "linux",
      });
    const report = reportOf("U", promptOf(prompt([skill("pdf"), skill("xls")])));
    expect(report.parts.find(({ name }) => name === "skills")).toMatchObject({ items: 2 });
    expect(tokensOf(report)["system prompt"]).toBe(
      tokensOf(reportOf("U", promptOf(prompt([]))))["system prompt"],
    );
  });

  test("instructions of the project count for themselves, as the agent frames them", () => {
    const text = "Use tabs.\n</instructions>\nBe brief.";
    const prompt = (instructions: { path: string; text: string }[]) =>
      systemPrompt({ cwd: "/p", tools: [], instructions, date: "2026-11-21", platform: "linux" });
    const without = tokensOf(reportOf("U", promptOf(prompt([]))));
    const files = [
      { path: "/home/dev/AGENTS.md", text },
      { path: '/p/"odd" name/AGENTS.md', text },
    ];
    const report = reportOf("U", promptOf(prompt(files)));
    expect(report.parts.find(({ name }) => name === "instructions")).toMatchObject({ items: 2 });
    expect(textOf(report, 80)).toMatch(/instructions .* dev\/AGENTS\.md, "odd" name\/AGENTS\.md$/m);
    const { instructions, "system prompt": own } = tokensOf(report);
    expect(instructions).toBeGreaterThan((2 * text.length) / 4);
    expect(own! - without["system prompt"]!).toBeLessThan(80);
  });

  test("a prompt of an extension can look like instructions, and be quoted badly", () => {
    const frame = '<instructions path="odd\\q">\nText\n</instructions>';
    expect(reportOf("U", promptOf(frame)).parts[0]).toMatchObject({
      name: "instructions",
      files: ["odd\\q"],
    });
  });

  test("the total is the reported one, with a row for the unexplained rest", () => {
    const more = reportOf("U:100 A:10@5000");
    expect(more).toMatchObject({ totalTokens: 5_000, isEstimate: false });
    expect(more.unexplainedTokens).toBeGreaterThan(4_000);
    expect(textOf(more, 80)).toContain("other");
    const less = reportOf("U:1000 A:10@700");
    expect(less).toMatchObject({ totalTokens: 700, unexplainedTokens: 0 });
    expect(textOf(less, 80)).not.toContain("too high");
  });

  test("after a compaction the total is an estimate that begins with the summary", () => {
    const report = reportOf("U:100 A:100@9000 | U:100 A:100@9500 | C(u2)");
    expect(report.isEstimate).toBe(true);
    expect(report.parts[2]).toMatchObject({ name: "summary", items: 1 });
    expect(textOf(report, 80)).toContain("Context: ~");
  });

  test("the free part ends where compaction begins, and the reserve shrinks beyond it", () => {
    const budgets = { windowTokens: 100_000, reserveTokens: 16_384, keepTokens: 0, outputTokens: 8_000 };
    const limit = thresholdTokens(chars4, budgets)!;
    expect(reportOf("U:100 A:10@20000").window).toEqual({
      windowTokens: 100_000,
      freeTokens: limit - 20_000,
      reserveTokens: 16_384,
      thresholdTokens: limit,
    });
    const over = reportOf("U:100 A:10@90000");
    expect(over.window).toMatchObject({ freeTokens: 0, reserveTokens: 10_000 });
    expect(textOf(over, 80)).toContain("The next request compacts it first");
    const off = reportOf("U", { settings: compactionSettings({ enabled: false }, { estimator: "chars4" }) });
    expect(off.window).toMatchObject({ thresholdTokens: undefined, reserveTokens: 0 });
    expect(textOf(off, 80)).toContain("Automatic compaction is off");
    expect(textOf(reportOf("U:100 A:10@120000"), 80)).toContain("context is larger than the window");
    expect(textOf(reportOf("U", { model: {} as ContextReportOptions["model"] }), 80)).toContain(
      "window unknown",
    );
  });

  test("the economy ends the free part at the working size and names the savings", () => {
    const turns = Array.from(
      { length: 40 },
      (_, at) => `U:30 A(t${at}):20@${5_050 + at * 1_000} T${at}:900 A:50@${6_000 + at * 1_000}`,
    );
    const model = { contextWindow: 200_000, maxOutputTokens: 8_000, usdPerMillionTokens: prices };
    const settings = (economy: "auto" | number) => compactionSettings({ economy }, { estimator: "chars4" });
    const report = reportOf(turns.join(" | "), { settings: settings("auto"), model });
    expect(report.window!.thresholdTokens).toBeLessThan(80_000);
    expect(textOf(report, 120)).toMatch(/Economy: compacts at \d+k of 200k: a day of 80 requests/);
    const own = reportOf(turns.join(" | "), {
      settings: settings(100_000),
      model: { contextWindow: 200_000 },
    });
    expect(own.window!.thresholdTokens).toBe(100_000);
    expect(textOf(own, 120)).toContain("Economy: compacts at 100k of 200k.");
  });

  test("the largest messages come first, with their ids", () => {
    const { session, id } = history("U:5 A(t1=read:a.ts):300 T1:900 A:20 | U:100 A:7");
    const lines = textOf(reportOf(session), 100).split("\n");
    const largest = lines.slice(lines.indexOf("Largest messages") + 1);
    expect(largest[0]).toMatch(/^\S+ +~900 +result /);
    for (const [at, name] of ["t1", "a1", "u2"].entries()) expect(largest[at]).toContain(id(name));
  });
});

describe("the view of /context", () => {
  const notation =
    'S"A cache was tried." U:900 A(t1=read:src/totals.ts t2=bash:ls):300 T1:5000 T2:1200 A:200@30000 | M(t1) B"npm test" X | U"Wide: 漢字漢字 and \u001b[31mred" A:100@31000';
  const { session } = history(notation);
  test("fits 80 and 40 columns", () =>
    everyRow([80, 40])((width) => {
      const text = textOf(reportOf(session), width).replaceAll(/\b[0-9a-f]{8}\b/g, "‹entry›");
      expect(text).toMatchSnapshot();
    }));
});
