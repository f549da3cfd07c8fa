import { everyRow } from "@bonsai-agent/testkit";
import type { ImportResult } from "@bonsai-agent/transcripts";
import { describe, expect, test } from "vitest";
import { answers, asks, calls, event, item, type Line, output, rollout, typed } from "./codex-rollout.ts";
import { projectionText } from "./projection-text.ts";

describe("Codex: prompts that events have", () => {
  const users = (result: ImportResult) => projectionText(result).filter((line) => /^[UA] /.test(line));

  test("alone, with images and files", () => {
    const all = rollout(
      undefined,
      typed("Build it.", {
        images: ["data:image/png;base64,aGk="],
        local_images: ["/tmp/a.png"],
        text_elements: [],
      }),
      ...[
        answers("Built."),
        typed("", { text_elements: [{ placeholder: "[Pasted 4 lines]" }] }),
        answers("Seen."),
      ],
      ...[typed("", { images: ["https://example.org/x.png"] }), answers("Nice.")],
    );
    expect(users(all)).toEqual([
      ...["U Build it. | <image> | [image: /tmp/a.png]", "A Built.", "U [Pasted 4 lines]", "A Seen."],
      ...["U [image: https://example.org/x.png]", "A Nice."],
    ]);
    expect(all.report.notices.map(({ kind, lines }) => [kind, ...lines])).toEqual([
      ["event_prompts", 3, 5, 7],
      ["image_not_stored", 3, 7],
    ]);
  });

  const wrapped =
    "# Context from my IDE setup:\n\n## Active file: a.ts\n\n## My request for Codex:\nMend   the\nbasket.";
  const SAID: Array<[what: string, lines: Line[], expected: string[]]> = [
    ["item first", [asks("Go."), typed("Go."), answers("1")], ["U Go.", "A 1"]],
    ["event first", [typed("Go."), asks("Go."), answers("1")], ["U Go.", "A 1"]],
    [
      "an item with an editor's words around",
      [asks(wrapped), typed("Mend the basket."), answers("1")],
      ["U Mend   the basket.", "A 1"],
    ],
    [
      "both with an editor's words around",
      [asks(wrapped), typed(wrapped), answers("1")],
      ["U Mend   the basket.", "A 1"],
    ],
    [
      "an event with more words",
      [asks("Mend the basket."), typed("Please:\nMend the basket."), answers("1")],
      ["U Mend the basket.", "A 1"],
    ],
    [
      "beside preambles that hold the words by chance",
      [asks("# AGENTS.md instructions\n\nSay y."), typed("y"), answers("1")],
      ["U y", "A 1"],
    ],
    [
      "an item that reads like a program's text",
      [asks("<skill name='a'>\nDo it.\n</skill>"), typed("<skill name='a'>\nDo it.\n</skill>"), answers("1")],
      ["A 1"],
    ],
    [
      "beside another prompt that holds the words by chance",
      [asks("Try it"), typed("Try it"), typed("y"), answers("1")],
      ["U Try it", "U y", "A 1"],
    ],
    [
      "the same words twice, once in an item",
      [asks("go on"), typed("go on"), answers("1"), typed("go on"), answers("2")],
      ["U go on", "A 1", "U go on", "A 2"],
    ],
    [
      "an item that comes when the model gets it",
      [
        asks("One."),
        typed("One."),
        calls("a"),
        typed("Two."),
        output("a"),
        calls("b"),
        output("b"),
        asks("Two."),
        answers("1"),
      ],
      ["U One.", "A shell()", "A shell()", "U Two.", "A 1"],
    ],
    [
      "images alone",
      [
        item({
          type: "message",
          role: "user",
          content: [{ type: "input_image", image_url: "data:image/png;base64,aGk=" }],
        }),
        typed("", { images: ["data:image/png;base64,aGk="] }),
        answers("1"),
      ],
      ["U <image>", "A 1"],
    ],
    [
      "an image between tags",
      [
        item({
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "<image name=[Image #1]>" },
            { type: "input_image", image_url: "data:image/png;base64,aGk=" },
            { type: "input_text", text: "</image>" },
            { type: "input_text", text: "See." },
          ],
        }),
        typed("See.", { local_images: ["/tmp/a.png"] }),
        answers("1"),
      ],
      ["U <image name=[Image #1]> | <image> | </image> | See.", "A 1"],
    ],
  ];
  test("are not doubled", () =>
    everyRow(SAID)(([, lines, expected]) => {
      expect(users(rollout(undefined, ...lines))).toEqual(expected);
    }));

  test("turns that were taken back are counted by them", () => {
    const all = rollout(
      undefined,
      typed("One."),
      answers("1"),
      typed("Two."),
      answers("2"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
      typed("Three."),
    );
    expect(users(all)).toEqual(["U One.", "A 1", "U Three."]);
  });
});

describe("Codex: turns that were cancelled", () => {
  const aborted = event({ type: "turn_aborted", reason: "interrupted" });
  const mark = asks("<turn_aborted>\n  The user interrupted the previous turn.\n</turn_aborted>");
  const stops = ({ entries }: ImportResult) =>
    entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "assistant" ? [entry.message.stopReason] : [],
    );

  test.each([
    ["before an answer", [], ["aborted"]],
    ["within an answer", [answers("I am")], ["aborted"]],
    ["before a call ran", [calls("a")], ["aborted"]],
    ["after a call", [calls("a"), output("a")], ["toolUse", "aborted"]],
  ])("%s", (_, lines: Line[], expected) => {
    for (const ends of [[aborted], [mark], [mark, aborted], [aborted, mark]]) {
      const all = rollout(undefined, asks("Go."), ...lines, ...ends, asks("Go on."), answers("Yes."));
      expect(stops(all)).toEqual([...expected, "stop"]);
      expect(all.report.models).toEqual(["openai/gpt-5-codex"]);
      expect(all.report.notices.find(({ kind }) => kind === "cancelled_turns")).toMatchObject({
        count: 1,
        lines: [4 + lines.length],
      });
    }
  });
});
