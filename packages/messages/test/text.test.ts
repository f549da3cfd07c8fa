import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { withoutTerminalControls } from "../src/host.ts";

const controls = [
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007shown", "shown"],
  ["a\u001b]8;;https://x.y\u001b\\link\u001b]8;;\u001b\\b", "alinkb"],
  ["\u001b\u001b]0;a\u0007]0;b\u0007c", "]0;b\u0007c"],
  ["plain ] text", "plain ] text"],
  ["\u001b]0;never ended", "0;never ended"],
] as const;
test("removes whole terminal controls, and keeps the text", () => {
  expect(controls.map(([text]) => [text, withoutTerminalControls(text)])).toEqual(controls);
});

test("Invariant: any long text for a terminal is read once", () => {
  for (const [name, text] of adversarialTexts())
    expect.soft(withoutTerminalControls(text), name).not.toContain("\u001b]");
});
