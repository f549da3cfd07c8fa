import { expect, test } from "vitest";
import { type Queue, QueueLines } from "../../src/interactive/status/status.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

const theme = makeTheme("none");
const text = (behavior: "steer" | "followUp", ...texts: string[]) =>
  texts.map((each) => ({ text: each, source: "interactive" as const, behavior }));
const lines = (queue: Queue) =>
  new QueueLines({ queue: () => queue, theme, takeBackKey: () => "Alt-↑" }).render(40);

test("each queued message is one line, cut to the terminal", () => {
  const queue = {
    steering: text("steer", "Look at\nthe tests first", "And keep the names that are there now"),
    followUps: text("followUp", "Then commit"),
  };
  expect(lines(queue).join("\n")).toMatchInlineSnapshot(`
    " Next: Look at the tests first
     Next: And keep the names that are ther…
     Then: Then commit
     Alt-↑ edits queued messages"
  `);
});

test("surplus queued messages are counted", () => {
  const steering = text("steer", "a", "b", "c", "d", "e", "f", "g");
  expect(lines({ steering, followUps: [] }).join("\n")).toMatchInlineSnapshot(`
    " Next: a
     Next: b
     Next: c
     Next: d
     and 3 more
     Alt-↑ edits queued messages"
  `);
});

test("an empty queue takes no line", () => {
  expect(lines({ steering: [], followUps: [] })).toEqual([]);
});
