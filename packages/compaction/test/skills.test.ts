import type { Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, mergeBranch, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" });
const compact = (session: Session) => runCompaction({ session, settings, summariser: scriptedSummariser() });
const readFiles = (summary: unknown) =>
  /<read-files>\n([\s\S]*?)\n<\/read-files>/.exec(String(summary))?.[1]?.split("\n") ?? [];
const REST = "A:100 U:50 A:50";

test("the list of read files begins with skills", () =>
  everyRow([
    ["a read of its file", "A(t1=read:a.ts t2=read:/s/pdf/SKILL.md) T1 T2", ["/s/pdf/SKILL.md", "a.ts"]],
    ["a failed read", "A(t1=read:a.ts t2=read:/s/pdf/SKILL.md) T1 T2!", ["a.ts"]],
    ["an edit of it", "A(t1=read:a.ts t2=edit:/s/pdf/SKILL.md) T1 T2", ["a.ts"]],
  ])(async ([, notation, expected]) => {
    const { session } = history(`U:5000 ${notation} ${REST}`);
    expect(readFiles((await compact(session)).summary)).toEqual(expected);
  }));

test("a skill that the user called is a read file, and its text is left out", async () => {
  const { session } = history("U:5000 A(t1=read:a.ts) T1 A:100");
  const body = "Read every page of it twice. ".repeat(40);
  const content = `<skill name="pdf" location="/s/pdf/SKILL.md">\n${body}\n</skill>\n\nreport.pdf`;
  session.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
  history("A:900", session);
  const { summary = "", entry } = await compact(session);
  expect(readFiles(summary)).toEqual(["/s/pdf/SKILL.md", "a.ts"]);
  expect(summary).toMatch(/<latest-request>\n.*\n\/skill:pdf report\.pdf\n<\/latest-request>/);
  expect(`${summary}${JSON.stringify(entry?.details)}`).not.toContain("every page");
});

test("more read files than fit never hide a skill, in the next compaction neither", async () => {
  const reads = Array.from({ length: 150 }, (_, at) => `A(t${at}=read:f${at}.ts) T${at}:50`).join(" ");
  const { session } = history(`U:5000 A(t200=read:/s/pdf/SKILL.md) T200 ${reads} ${REST}`);
  expect(readFiles((await compact(session)).summary)[0]).toBe("/s/pdf/SKILL.md");
  history(`U:5000 ${REST}`, session);
  expect(readFiles((await compact(session)).summary)[0]).toBe("/s/pdf/SKILL.md");
});

test("the summary of a merged branch lists its skills", async () => {
  const { session, id } = history("U A | U A(t1=read:/s/pdf/SKILL.md) T1 A ^a1 U A");
  const { summaryEntry } = await mergeBranch({ session, branchId: id("a3"), settings });
  expect(readFiles(summaryEntry?.summary)).toEqual(["/s/pdf/SKILL.md"]);
});
