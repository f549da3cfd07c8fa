import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { skillCallText } from "@bonsai-agent/messages";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  compactionSettings,
  type FileChange,
  mergeBranch,
  navigateTree,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-read-skills-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const settings = compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" });
const compact = (session: Session, fileChangedMs?: FileChange) =>
  runCompaction({ session, settings, summariser: scriptedSummariser(), fileChangedMs });
const shownIn = (summary: unknown) =>
  /<read-skills>\n([\s\S]*?)\n<\/read-skills>/.exec(String(summary))?.[1]?.split("\n") ?? [];
const skillsOf = (session: Session) => shownIn(session.projection().compaction?.summary);
const call = (args = "") =>
  skillCallText({
    name: "pdf",
    path: "/s/pdf/SKILL.md",
    args,
    body: "Read every page of it twice. ".repeat(40),
  });

test.each([
  ["a read of its file", "A(t1=read:/s/pdf/SKILL.md) T1", ["pdf: /s/pdf/SKILL.md"]],
  ["by another tool", "A(t1=view_file:.claude/skills/pdf/SKILL.md) T1", ["pdf: .claude/skills/pdf/SKILL.md"]],
  ["not a read that failed", "A(t1=read:/s/pdf/SKILL.md) T1!", []],
  ["not another file of it", "A(t1=read:/s/pdf/forms.md) T1", []],
  ["not one that is changed here", "A(t1=read:/s/pdf/SKILL.md) T1 A(t2=edit:/s/pdf/SKILL.md) T2", []],
  ["not a listing", "A(t1=ls:/s/pdf/SKILL.md) T1", []],
  [
    "the latest first, each once",
    "A(t1=read:/s/pdf/SKILL.md) T1 A(t2=read:/s/xls/SKILL.md) T2 A(t3=read:/s/pdf/SKILL.md) T3",
    ["pdf: /s/pdf/SKILL.md", "xls: /s/xls/SKILL.md"],
  ],
  [
    "one file by two names",
    "A(t1=read:skills/pdf/SKILL.md) T1 A(t2=read:/home/u/skills/pdf/SKILL.md) T2",
    ["pdf: /home/u/skills/pdf/SKILL.md"],
  ],
])("a compaction names the skills that were read: %s", async (_, notation, expected) => {
  const { session } = history(`U:5000 ${notation} A:100 U:50 A:50`);
  expect((await compact(session)).status).toBe("compacted");
  expect(skillsOf(session)).toEqual(expected);
});

test("a skill that the user called stands there by its name, and nowhere is its text", async () => {
  const { session } = history("U:5000 A:100");
  session.append({ type: "message", message: { role: "user", content: call("report.pdf"), timestamp: 1 } });
  history("A:900", session);
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings, summariser });
  const { summary = "", details } = session.projection().compaction ?? {};
  expect(shownIn(summary)).toEqual(["pdf: /s/pdf/SKILL.md"]);
  expect(summary).toContain("<latest-request>\n/skill:pdf report.pdf\n</latest-request>");
  expect(`${summary}${JSON.stringify(details)}`).not.toContain("every page");
  expect(JSON.stringify(details)).toContain("/skill:pdf report.pdf");
});

test("what they hold is carried over compactions, an undo and a reload", async () => {
  const file = join(folder, "carried.jsonl");
  const { session } = history(
    "U:5000 A(t1=read:/s/pdf/SKILL.md) T1 A:100 U:50 A:50",
    createSession({ cwd: "/p", file }),
  );
  await compact(session);
  history("U:5000 A(t2=read:/s/xls/SKILL.md) T2 A:100 U:50 A:50", session);
  await compact(session);
  expect(skillsOf(session)).toEqual(["xls: /s/xls/SKILL.md", "pdf: /s/pdf/SKILL.md"]);
  expect(String(session.projection().compaction?.summary).match(/<read-skills>/g)).toHaveLength(1);
  session.close();
  const reopened = openSession(file);
  expect(skillsOf(reopened)).toHaveLength(2);
  reopened.append({
    type: "custom",
    customType: "bonsai.undo",
    data: { compactionId: reopened.projection().compaction!.id },
  });
  expect(skillsOf(reopened)).toEqual(["pdf: /s/pdf/SKILL.md"]);
  history("U:5000 A:100 U:50 A:50", reopened);
  await compact(reopened);
  expect(skillsOf(reopened)).toEqual(["xls: /s/xls/SKILL.md", "pdf: /s/pdf/SKILL.md"]);
  reopened.close();
});

test("a branch that is left or merged brings them along, into the next compaction too", async () => {
  const made = history("U A | U A(t1=read:/s/pdf/SKILL.md) T1 A ^a1 U A(t2=read:/s/xls/SKILL.md) T2 A");
  const { session, id } = made;
  const { summaryEntry } = await mergeBranch({ session, branchId: id("a3"), settings });
  expect(shownIn(summaryEntry?.summary)).toEqual(["pdf: /s/pdf/SKILL.md"]);
  const moved = await navigateTree({ session, targetId: id("a1"), summarise: true, settings });
  expect(shownIn(moved.summaryEntry?.summary)).toEqual(["xls: /s/xls/SKILL.md", "pdf: /s/pdf/SKILL.md"]);
  history("U:5000 A:100 U:50 A:50", session);
  await compact(session);
  expect(skillsOf(session)).toEqual(["xls: /s/xls/SKILL.md", "pdf: /s/pdf/SKILL.md"]);
});

test("one that is gone, or has changed since, says so; later compactions look again", async () => {
  const names = ["same", "changed", "gone"];
  const reads = names.map((name, at) => `A(t${at}=read:/s/${name}/SKILL.md) T${at}`).join(" ");
  const { session } = history(`U:5000 ${reads} A:100 U:50 A:50`);
  const later = Date.now() + 1e12;
  await compact(session, (path) =>
    path.includes("gone") ? undefined : path.includes("changed") ? later : 1,
  );
  expect(skillsOf(session)).toEqual([
    "gone: /s/gone/SKILL.md (deleted)",
    "changed: /s/changed/SKILL.md (changed since)",
    "same: /s/same/SKILL.md",
  ]);
  history("U:5000 A:100 U:50 A:50", session);
  await compact(session, () => 1);
  expect(skillsOf(session)).toEqual(names.toReversed().map((name) => `${name}: /s/${name}/SKILL.md`));
});

test("many are bounded: the latest are shown, the others counted, and none is forgotten", async () => {
  const reads = Array.from({ length: 60 }, (_, at) => `A(t${at}=read:/s/skill-${at}/SKILL.md) T${at}`);
  const { session } = history(`U:5000 ${reads.join(" ")} A:100 U:50 A:50`);
  await compact(session);
  const lines = skillsOf(session);
  expect(lines[0]).toBe("skill-59: /s/skill-59/SKILL.md");
  expect(lines.at(-1)).toBe(`(and ${60 - lines.length + 1} older)`);
  expect(lines.length).toBeLessThan(25);
  const { details } = session.projection().compaction as { details: { readSkills: unknown[] } };
  expect(details.readSkills).toHaveLength(60);
});

test.each([
  7,
  [1, null, { name: 2 }, { name: "a" }, { name: "ok", path: "/ok/SKILL.md", readMs: "x" }],
  { a: 1 },
])("details that are damaged harm nothing: %j", async (readSkills) => {
  const { session } = history("U:5000 A(t1=read:/s/pdf/SKILL.md) T1 A:100 U:50 A:50");
  await compact(session);
  const { type: _, ...entry } = session.projection().compaction!;
  const details = { ...(entry.details as object), readSkills };
  session.append({ ...entry, type: "compaction", id: undefined, details } as never);
  history("U:5000 A:100 U:50 A:50", session);
  expect((await compact(session)).status).toBe("compacted");
  expect(skillsOf(session)).toEqual(Array.isArray(readSkills) ? ["ok: /ok/SKILL.md"] : []);
});

const steps = fc.array(
  fc.record({ read: fc.array(fc.nat({ max: 6 }), { maxLength: 3 }), compacts: fc.boolean() }),
  { minLength: 1, maxLength: 6 },
);

test("law: whatever is compacted when, the skills that were summarised are those that are named, each once", async () => {
  const law = fc.asyncProperty(steps, async (all) => {
    const { session } = history("U:5000 A:50");
    let calls = 0;
    for (const { read, compacts } of all) {
      const reads = read.map((skill, at) => `A(t${calls + at}=read:/s/k${skill}/SKILL.md) T${calls + at}`);
      calls += read.length;
      history(`U:5000 ${reads.join(" ")} A:100`, session);
      if (compacts) await compact(session);
    }
    const left = session.projection().items.map(({ entryId }) => entryId);
    const summarised = session.entries().filter(({ id, type }) => type === "message" && !left.includes(id));
    const wanted = new Set(JSON.stringify(summarised).match(/\/s\/k\d\/SKILL\.md/g) ?? []);
    const named = skillsOf(session).map((line) => line.split(": ")[1]);
    expect(named.toSorted()).toEqual([...wanted].toSorted());
    // Planning the next one reads the same from what is stored.
    expect(planCompaction({ session, settings }).status).toMatch(/planned|compact/);
  });
  await fc.assert(law);
});
