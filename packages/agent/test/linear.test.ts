import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { cleanTitle, proseOf, titleOf } from "../src/listing/title-text.ts";
import { requestOverhead } from "../src/prompt/system-prompt.ts";
import { TerminalText } from "../src/tools/command-output.ts";
import { matches } from "../src/tools/files/edit-plan.ts";

/** Quadratic time exceeds this limit for 100 KB. Linear time needs a hundredth of it. */
const LIMIT = { timeout: 15_000 };

test.each(adversarialTexts(100_000))(
  "100 KB of %s from a tool, a model, a user or a file take linear time",
  LIMIT,
  (_name, text) => {
    const terminal = new TerminalText();
    expect(typeof (terminal.push(Buffer.from(text)) + terminal.end())).toBe("string");
    expect(matches(text, "not there\n").spans).toEqual([]);
    expect(
      requestOverhead({ systemPrompt: text, tools: [] }).instructions.join("").length,
    ).toBeLessThanOrEqual(text.length);
    for (const read of [titleOf, cleanTitle, (long: string) => proseOf(long, 400)]) read(text);
  },
);

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
