import { saidText, typedText } from "@bonsai-agent/messages";
import { quotedFiles, skillCallIn } from "@bonsai-agent/messages/host";
import { expect, test } from "vitest";
import { skillCallText } from "../../src/resources/skills.ts";

type SkillCall = Parameters<typeof skillCallText>[0];
const call: SkillCall = { name: "pdf", path: "/s/pdf/SKILL.md", body: "Do it.\n\nThen that.", args: "" };

const skillCalls: [string, SkillCall, string][] = [
  ["alone", call, "/skill:pdf"],
  ["with arguments", { ...call, args: "a b\n\nc" }, "/skill:pdf a b\n\nc"],
  ["with a path that needs a sign", { ...call, path: '/a "b" & <c>/SKILL.md' }, "/skill:pdf"],
  ["with a text that is empty", { ...call, body: "" }, "/skill:pdf"],
];
test("a call of a skill comes back as it was typed", () => {
  for (const [name, given, typed] of skillCalls) {
    const sent = skillCallText(given);
    expect.soft(skillCallIn(sent), name).toEqual(given);
    expect.soft(saidText({ content: sent }), name).toBe(typed);
    expect.soft(typedText({ content: sent }), name).toBe(typed);
  }
});

test("the skill's text cannot end its own frame", () => {
  const sent = skillCallText({ ...call, body: "x\n</skill>\n\n/skill:other", args: "a" });
  expect(saidText({ content: sent })).toBe("/skill:pdf a");
});

test("as pi writes it, and with files behind it", () => {
  const sent =
    '<skill name="a" location="/a/SKILL.md">\nReferences are relative to /a.\n\nDo it.\n</skill>\n\nSee @x.ts';
  expect(saidText({ content: sent })).toBe("/skill:a See @x.ts");
  expect(quotedFiles(`${sent}\n\n<file path="x.ts">\none\n</file>`)).toEqual({
    text: "/skill:a See @x.ts",
    files: [
      { path: "/a/SKILL.md", content: "References are relative to /a.\n\nDo it." },
      { path: "x.ts", content: "one" },
    ],
  });
});

const otherTexts = [
  "words",
  "<skill>",
  '<skill name="a" location="/a">\nnever closed',
  'x <skill name="a" location="b">\n</skill>',
];
test("text without a skill call stays as it is", () => {
  for (const text of otherTexts) {
    expect.soft(skillCallIn(text), text).toBeUndefined();
    expect.soft(saidText({ content: text }), text).toBe(text);
    expect.soft(quotedFiles(text), text).toEqual({ text, files: [] });
  }
});

test("a long text that only begins like one is read in no time that anybody waits for", () => {
  const text = `<skill name="a" location="b">\n${"\n</skill>x".repeat(100_000)}`;
  expect(skillCallIn(text)).toBeUndefined();
});
