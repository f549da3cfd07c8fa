import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UndoReport } from "@bonsai-agent/compaction";
import { createSession } from "@bonsai-agent/session";
import { fewRuns, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import type { SessionReport } from "../src/views/session-report.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-numbers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Histories that end with an answer's report, with one and something after it, or without any. */
const cases = fc.record({
  tree: treeArbitrary({ maxTokens: 600 }),
  reportedTokens: fc.option(fc.integer({ min: 1, max: 40_000 }), { nil: undefined }),
  after: fc.constantFrom("", "U:80", 'U"漢字漢字漢字" B:300', "U:10*2"),
  keep: fc.integer({ min: 1, max: 2_000 }),
});
type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

let files = 0;
function fileOf({ tree, reportedTokens, after }: Omit<Case, "keep">): string {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  const answer = reportedTokens === undefined ? "" : ` | U:200 A:50@${reportedTokens}`;
  const { session } = history(`${tree}${answer} | ${after}`, createSession({ cwd: "/project", file }));
  session.close();
  return file;
}

async function screen(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(argv, { columns: 120 });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

interface Figure {
  tokens: number;
  isEstimate: boolean;
}

const digits = "~?[\\d,]+";

function figure(text: string | undefined): Figure {
  expect(text).toMatch(new RegExp(`^${digits}$`));
  return { tokens: Number(text!.replaceAll(/[~,]/g, "")), isEstimate: text!.startsWith("~") };
}

function found(text: string, pattern: RegExp): string[] {
  const match = pattern.exec(text);
  expect(match, `${pattern} in:\n${text}`).not.toBeNull();
  return match!.slice(1);
}

const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);

/** `<1%` is what was rounded to nothing, `>99%` what was rounded to all. */
function percentOf(text: string): number {
  return text === "<1%" ? 0 : text === ">99%" ? 100 : Number(text.slice(0, -1));
}

/** Each run is some ten commands. */
const law = (check: (each: Case) => Promise<void>) => fc.assert(fc.asyncProperty(cases, check), fewRuns());

test("Law: the rows of `bonsai context` add up to the total of `bonsai show`", () =>
  law(async (each) => {
    const file = fileOf(each);
    const report = await jsonOf<SessionReport>(["show", file]);
    const { tokens, items, isEstimate, estimatedTokens } = report.context;
    const rows = await jsonOf<ContextItem[]>(["context", file]);
    expect(rows).toHaveLength(items);
    const text = await screen("context", file);
    expect(text).toMatch(new RegExp(`^${items === 1 ? "1 item" : `${items} items`} at `, "m"));
    const [context] = found(
      await screen("show", file),
      new RegExp(`^  context +(${digits}) tokens? in ${items} item`, "m"),
    );
    const known = { tokens, isEstimate: isEstimate || estimatedTokens > 0 };
    expect(figure(context)).toEqual(known);
    if (tokens === 0) return;
    const parts = [...text.matchAll(new RegExp(`^[^ ] {2}[a-z ]+? +(${digits}) +([<>]?\\d+%)`, "gm"))];
    expect(sum(parts.map(([, part]) => figure(part).tokens))).toBe(tokens);
    expect(parts.every(([, part]) => figure(part).isEstimate)).toBe(true);
    expect(sum(parts.map(([, , share]) => percentOf(share!)))).toBe(100);
    const [total] = found(text, new RegExp(`^ +total +(${digits}) `, "m"));
    expect(figure(total)).toEqual(known);
    const listed = [
      ...text.split(/^\d+ items? at/m)[0]!.matchAll(new RegExp(`^[0-9a-f]{8} +(${digits}) `, "gm")),
    ];
    expect(listed.map(([, row]) => figure(row))).toEqual(
      rows.map((row) => ({ tokens: row.tokens, isEstimate: true })),
    );
  }));

/** The parts of the picture of a compaction, by name. */
function partsOf(text: string) {
  const rows = text.matchAll(
    new RegExp(
      `[│╞] {2}(fixed|summarised|turn start|masked|shortened|kept) +(?:([\\d,]+) items?)? +(${digits}) tokens? +([<>]?\\d+%)`,
      "g",
    ),
  );
  return [...rows].map(([, name, items = "0", tokens, share]) => ({
    name: name!,
    items: Number(items.replaceAll(",", "")),
    ...figure(tokens),
    share: percentOf(share!),
  }));
}

function checkPicture(text: string, report: CompactionReport, { context }: SessionReport): void {
  const [before, after] = found(
    text,
    new RegExp(`^(?:Plan|Compacted|Masked) {2}(${digits}) → (${digits}) tokens?$`, "m"),
  ).map(figure);
  expect(before).toEqual({ tokens: context.tokens, isEstimate: context.estimatedTokens > 0 });
  expect(after).toEqual({ tokens: report.tokensAfter, isEstimate: true });
  expect(report).toMatchObject({
    tokensBefore: before!.tokens,
    estimatedTokensBefore: context.estimatedTokens,
  });
  const [barBefore, barAfter] = ["before", "after"].map((name) =>
    figure(found(text, new RegExp(`^${name} +[^\\d~]+ +(${digits})`, "m"))[0]),
  );
  expect([barBefore, barAfter]).toEqual([before, after]);
  const parts = partsOf(text);
  expect(sum(parts.map(({ tokens }) => tokens))).toBe(before!.tokens);
  expect(sum(parts.map(({ items }) => items))).toBe(context.items);
  if (before!.tokens > 0) expect(sum(parts.map(({ share }) => share))).toBe(100);
  expect(parts.every(({ isEstimate }) => isEstimate)).toBe(true);
  const [, summary = "0"] = new RegExp(`summary, (${digits}) token`).exec(text) ?? [];
  const stays = parts.filter(({ name }) => name === "fixed" || name === "kept");
  expect(sum(stays.map(({ tokens }) => tokens)) + figure(summary).tokens).toBe(after!.tokens);
  const { steps, summarizedEntryIds, turnPrefixEntryIds } = report;
  expect(steps?.summarised).toBe(summarizedEntryIds.length + turnPrefixEntryIds.length);
}

test("Law: a plan's parts add up to its sizes, and its size before is the context's", () =>
  law(async ({ keep, ...each }) => {
    const file = fileOf(each);
    const show = await jsonOf<SessionReport>(["show", file]);
    for (const model of [[], ["--model", "anthropic/claude-sonnet-4-5"]]) {
      const argv = ["compact", file, "--dry-run", "--keep", String(keep), ...model];
      const report = await jsonOf<CompactionReport>(argv);
      if (report.status === "planned") checkPicture(await screen(...argv), report, show);
    }
  }));

test("Law: the size that a compaction reports is the size on the next screens and of `undo`", () =>
  law(async ({ keep, ...each }) => {
    const file = fileOf(each);
    const twin = `${file}.copy.jsonl`;
    copyFileSync(file, twin);
    const before = await jsonOf<SessionReport>(["show", file]);
    const argv = ["--digest", "--keep", String(keep)];
    const { stdout } = await runCli(["compact", file, ...argv, "--json"]);
    const report = JSON.parse(stdout) as CompactionReport;
    fc.pre(report.status === "compacted" || report.status === "masked");
    checkPicture(await screen("compact", twin, ...argv), report, before);
    const show = await jsonOf<SessionReport>(["show", file]);
    expect(show.context).toMatchObject({ tokens: report.tokensAfter, estimatedTokens: report.tokensAfter });
    if (report.status === "masked") return;
    expect(show.compaction).toMatchObject({
      tokensBefore: report.tokensBefore,
      estimatedTokensBefore: report.estimatedTokensBefore,
      tokensAfter: report.tokensAfter,
    });
    const sizes = found(await screen("show", file), new RegExp(`^  (${digits}) → (${digits}) tokens?$`, "m"));
    const shown = [before.context.estimatedTokens > 0, true].map((isEstimate, at) => ({
      tokens: [report.tokensBefore, report.tokensAfter][at],
      isEstimate,
    }));
    expect(sizes.map(figure)).toEqual(shown);
    const undone = await jsonOf<UndoReport>(["undo", file]);
    const after = await jsonOf<SessionReport>(["show", file]);
    expect(undone).toMatchObject({
      estimatedTokensBefore: report.tokensAfter,
      tokensBefore: report.tokensAfter,
      tokensAfter: after.context.tokens,
    });
    const undo = found(
      await screen("undo", twin),
      new RegExp(`Context: (${digits}) → (${digits}) tokens?\\.`),
    );
    expect(undo.map(figure)).toEqual([
      // Of nothing, nothing is estimated.
      { tokens: undone.tokensBefore, isEstimate: undone.tokensBefore > 0 },
      { tokens: undone.tokensAfter, isEstimate: undone.estimatedTokensAfter > 0 },
    ]);
  }));

test("Law: the entries of `bonsai show` add up, and every entry has its place in `bonsai tree`", () =>
  law(async (each) => {
    const file = fileOf(each);
    const { entryCount, counts } = await jsonOf<SessionReport>(["show", file]);
    expect(sum(Object.values(counts))).toBe(entryCount);
    const tree = await screen("tree", file);
    const [total] = found(tree, /^([\d,]+) entr(?:y|ies), /m);
    expect(Number(total!.replaceAll(",", ""))).toBe(entryCount);
    const rows = tree.split("\n").slice(0, -3);
    const folded = rows.map((row) => {
      const [, many = "0"] = /⋮ (?:\d+ turns?, )?(\d+) entr/.exec(row) ?? [];
      const [, more = "0"] = / {2}\+(\d+)(?: {2}◀ here)?$/.exec(row) ?? [];
      return Number(many) + Number(more) + (row.includes("⋮") ? 0 : 1);
    });
    const [, unshown = "0"] = /\(hidden: (\d+) moves? without entries/.exec(tree) ?? [];
    expect(sum(folded) + Number(unshown)).toBe(entryCount);
  }));
