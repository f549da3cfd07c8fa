import { homedir } from "node:os";
import { estimateTokens } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { skillSection, systemPrompt } from "../../src/prompt/system-prompt.ts";
import type { Skill } from "../../src/resources/skills.ts";

const skill = (name: string, description = `What ${name} does.`, more: Partial<Skill> = {}): Skill => ({
  name,
  description,
  path: `/s/${name}/SKILL.md`,
  folder: `/s/${name}`,
  isForModel: true,
  isForUser: true,
  readable: `/s/${name}`,
  place: { path: "/s", origin: "user" },
  ...more,
});
const many = (count: number, words = 60) =>
  Array.from({ length: count }, (_, at) =>
    skill(`skill-${at}`, `Use for the task ${at}. ${"word ".repeat(words)}end`),
  );
const lines = (text: string) => text.split("\n").filter((line) => line.startsWith("- "));

test("names, descriptions and places; not those that only a user may call", () => {
  const own = skill("own", "Own.", { path: `${homedir()}/.claude/skills/own/SKILL.md` });
  const hidden = skill("hidden", "Hidden.", { isForModel: false });
  expect(lines(skillSection([skill("pdf"), own, hidden], 4_000))).toEqual([
    "- pdf: What pdf does. (/s/pdf/SKILL.md)",
    "- own: Own. (~/.claude/skills/own/SKILL.md)",
  ]);
  expect(skillSection([hidden], 4_000)).toBe("");
  expect(skillSection([skill("pdf")], 0)).toBe("");
});

const lengths = [
  ["whole descriptions", 10, 4_000, 10, "end (/s/skill-0/SKILL.md)"],
  ["shorter ones first", 40, 2_500, 40, "… (/s/skill-0/SKILL.md)"],
  ["then names alone", 60, 1_000, 60, "- skill-0 (/s/skill-0/SKILL.md)"],
  ["then as many as fit, the others counted", 300, 1_000, undefined, "- skill-0 (/s/skill-0/SKILL.md)"],
] as const;
test("shortens a list that does not fit", () => {
  for (const [name, count, maxTokens, shown, first] of lengths) {
    const text = skillSection(many(count), maxTokens);
    const rows = lines(text);
    expect.soft(estimateTokens(text), name).toBeLessThanOrEqual(maxTokens);
    expect.soft(rows[0], name).toMatch(new RegExp(`${first.replaceAll(/[()]/g, "\\$&")}$`));
    if (shown === undefined)
      expect
        .soft(rows.at(-1), name)
        .toBe(`- and ${count - rows.length + 1} more in /s (no room to list them)`);
    else expect.soft(rows, name).toHaveLength(shown);
    expect.soft(skillSection(many(count), maxTokens), name).toBe(text);
  }
});

test("a single skill is never lost, however small the budget is", () => {
  expect(lines(skillSection([skill("pdf")], 1))).toEqual(["- and 1 more in /s (no room to list them)"]);
});

test("offered where the model can read files, and nowhere else", () => {
  const prompt = (...names: string[]) =>
    systemPrompt({
      cwd: "/p",
      tools: names.map((name) => ({ name }) as never),
      skills: [skill("pdf")],
      instructions: [],
      date: "2026-01-01",
      platform: "linux",
    });
  expect(prompt("read", "bash")).toContain("# Skills\n");
  expect(prompt("bash")).not.toContain("pdf");
});
