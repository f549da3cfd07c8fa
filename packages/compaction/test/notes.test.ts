import { describe, expect, test } from "vitest";
import { withoutThinking } from "../src/ladder/ask.ts";

describe("notes", () => {
  const notes = "## Goal\nShip it.";
  test.each([
    `<think>## Goal\nA draft</think>\n${notes}`,
    `## Goal\nA draft\n</think>\n\n${notes}`,
    `A draft</think>${notes}`,
    `<thinking>x</thinking>${notes}`,
    `<analysis>\nx\n</analysis>\n\n${notes}`,
    `x\n</analysis>\n${notes}`,
    `${notes}\n<tool_call>\n{"name":"read"}\n</tool_call>`,
    `<tool_call>{"name":"read"}</tool_call>\n${notes}`,
    `${notes}\n<tool_call>{"name":"read"}`,
    `<think>a</think><analysis>b</analysis>${notes}`,
    `[THINK]a[/THINK]${notes}`,
    `<scratchpad class="x">a</scratchpad>${notes}`,
  ])("lose their thinking: %j", (text) => {
    expect(withoutThinking(text)).toBe(notes);
  });

  test.each(["<think>all", "<tool_call>{}</tool_call>", "draft\n</think>\n", "<analysis>x</analysis>"])(
    "nothing is left of %j",
    (text) => expect(withoutThinking(text)).toBe(""),
  );

  test.each([
    "## Goal\nRepair the parser of `<think>` and `</think>` tags.",
    "## Goal\nThe tag </think> is cut.\n```\n<think>\nx\n</think>\n```\nDone.",
  ])("keep the tags that they write about: %j", (text) => {
    expect(withoutThinking(text)).toBe(text);
  });
});
