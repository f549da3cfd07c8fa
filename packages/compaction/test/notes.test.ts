import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { withoutThinking } from "../src/ladder/ask.ts";

describe("notes", () => {
  const notes = "## Goal\nShip it.";
  test("lose their thinking", () =>
    everyRow([
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
    ])((text) => {
      expect(withoutThinking(text)).toBe(notes);
    }));

  test("are empty if they are only thinking", () =>
    everyRow(["<think>all", "<tool_call>{}</tool_call>", "draft\n</think>\n", "<analysis>x</analysis>"])(
      (text) => expect(withoutThinking(text)).toBe(""),
    ));

  test("keep the tags that they write about", () =>
    everyRow([
      "## Goal\nRepair the parser of `<think>` and `</think>` tags.",
      "## Goal\nThe tag </think> is cut.\n```\n<think>\nx\n</think>\n```\nDone.",
    ])((text) => {
      expect(withoutThinking(text)).toBe(text);
    }));
});
