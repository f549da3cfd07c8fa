import { expect, test } from "vitest";
import { type Queue, queueLines } from "../../src/interactive/status/status.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

const theme = makeTheme("none");
const texts = (...all: string[]) => all.map((text) => ({ text }));
const lines = (queue: Queue) => queueLines(queue, 40, theme);

test("each queued message is one line, cut to the terminal", () => {
  const queue = {
    steering: texts("Look at\nthe tests first", "And keep the names that are there now"),
    followUps: texts("Then commit"),
  };
  expect(lines(queue).join("\n")).toMatchInlineSnapshot(`
    " Next: Look at the tests first
     Next: And keep the names that are ther…
     Then: Then commit
     Alt-↑ edits queued messages"
  `);
});

test("surplus queued messages are counted", () => {
  const steering = texts("a", "b", "c", "d", "e", "f", "g");
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
