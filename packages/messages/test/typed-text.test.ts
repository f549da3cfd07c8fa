import { expect, test } from "vitest";
import { askedText, saidText, typedCommand, typedText } from "../src/text/typed-text.ts";

const file = '<file path="a.ts">\none\n</file>';
const skill = '<skill name="pdf" location="/s/SKILL.md">\nDo it.\n</skill>\n\nSee @a.ts';
const reminder = "<system-reminder>Be kind.</system-reminder>\n";

const sentMessages: [string, object, { typed: string; said: string; asked: string }][] = [
  ["words", { content: "Do it" }, { typed: "Do it", said: "Do it", asked: "Do it" }],
  [
    "words and a file",
    { content: `See @a.ts\n\n${file}` },
    { typed: "See @a.ts", said: `See @a.ts\n\n${file}`, asked: `See @a.ts\n\n${file}` },
  ],
  [
    "a template and a file",
    { content: `Review @a.ts.\n\n${file}`, typed: "/review @a.ts" },
    {
      typed: "/review @a.ts",
      said: "/review @a.ts",
      asked: `/review @a.ts\n\nReview @a.ts.\n\n${file}`,
    },
  ],
  [
    "a skill and a file, behind a reminder",
    { content: [{ type: "text", text: `${reminder}${skill}\n\n${file}` }] },
    {
      typed: "/skill:pdf See @a.ts",
      said: `/skill:pdf See @a.ts\n\n${file}`,
      asked: `/skill:pdf See @a.ts\n\n${file}`,
    },
  ],
  ["a reminder alone", { content: reminder }, { typed: "", said: "", asked: "" }],
  ["what is no text", { content: "Do it", typed: 5 }, { typed: "Do it", said: "Do it", asked: "Do it" }],
  ["an empty line", { content: "Do it", typed: " " }, { typed: "Do it", said: "Do it", asked: "Do it" }],
  ["nothing", {}, { typed: "", said: "", asked: "" }],
];
test("tells typed, said and asked text of a message apart", () => {
  for (const [name, message, { typed, said, asked }] of sentMessages) {
    expect.soft(typedText(message), name).toBe(typed);
    expect.soft(saidText(message), name).toBe(said);
    expect.soft(askedText(message), name).toBe(asked);
    expect.soft(typedCommand(message) ?? typed, name).toBe(typed);
  }
});
