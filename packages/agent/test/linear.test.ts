import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { cleanTitle, proseOf, titleOf } from "../src/listing/title-text.ts";
import { requestOverhead } from "../src/prompt/system-prompt.ts";
import { TerminalText } from "../src/tools/command-output.ts";
import { matches } from "../src/tools/files/edit-plan.ts";

/** Quadratic time exceeds this limit. Linear time needs a tenth of it. */
const LIMIT = { timeout: process.env.LAW_RUNS ? 120_000 : 20_000 };

/** Texts that a tool, a model, a user or a file can contain. */
const texts = adversarialTexts().map(([, text]) => text);

const readers: Record<string, (text: string) => unknown> = {
  "the output of a terminal": (text) => {
    const terminal = new TerminalText();
    return terminal.push(Buffer.from(text)) + terminal.end();
  },
  "a passage to edit": (text) => expect(matches(text, "not there\n").spans).toEqual([]),
  "a system prompt": (text) => {
    const { instructions } = requestOverhead({ systemPrompt: text, tools: [] });
    expect(instructions.map((each) => each.text).join("").length).toBeLessThanOrEqual(text.length);
  },
  "a request to title": titleOf,
  "a model's title": cleanTitle,
  "prose to shorten": (text) => proseOf(text, 400),
};

test.each(Object.keys(readers))("Invariant: %s is read in linear time", LIMIT, (name) => {
  for (const text of texts) readers[name]!(text);
});

const returns = [
  ["a\r\r\nb", "a\nb"],
  ["1%\r2%\r3%\r\nend", "3%\nend"],
  ["\r\r\r", ""],
  ["x\r\r", "x"],
  ["\rx\r\r\n\r\n", "x\n\n"],
] as const;
test("a carriage return goes back to the beginning of its line", () => {
  for (const [text, shown] of returns) {
    const terminal = new TerminalText();
    expect.soft(terminal.push(Buffer.from(text)) + terminal.end(), text).toBe(shown);
  }
});
