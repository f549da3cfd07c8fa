import { readableSummary } from "@bonsai-agent/messages";
import { escapeMarks, FRAMES, MARKS, readableLines } from "@bonsai-agent/messages/host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { restoreMarks } from "../src/text/marks.ts";

const stored = [
  FRAMES.record.begin,
  "",
  "## Goal",
  "Keep &lt;pinned> as text, &#91;Record of the earlier conversation] too.",
  "",
  "## Kept word for word",
  "",
  "<pinned>",
  "Use pnpm.",
  "## Not a heading",
  "</pinned>",
  "<my-notes>",
  "a note",
  "</my-notes>",
  "<read-files>",
  '"a\\u003cb>.ts"',
  "</read-files>",
  "",
  FRAMES.record.end,
];

test("shows headings instead of the tags and sentences for models", () => {
  expect(readableLines(stored.join("\n")).filter(({ text }) => text !== "")).toEqual([
    { text: "Goal", isHeading: true, level: 2, at: 2 },
    { text: "Keep <pinned> as text, [Record of the earlier conversation] too.", isHeading: false, at: 3 },
    { text: "Pinned", isHeading: true, at: 7 },
    { text: "Use pnpm.", isHeading: false, at: 8 },
    { text: "## Not a heading", isHeading: false, at: 9 },
    { text: "My notes", isHeading: true, at: 11 },
    { text: "a note", isHeading: false, at: 12 },
    { text: "Files read", isHeading: true, at: 14 },
    { text: "a<b>.ts", isHeading: false, at: 15 },
  ]);
});

test("shows the summary of the current turn below a heading", () => {
  const marks = [MARKS.splitTurn, escapeMarks(MARKS.splitTurn)];
  for (const mark of marks) {
    expect(readableSummary(`No earlier history.\n\n---\n\n${mark}\n\nFixed it.`)).toBe(
      "## Current turn\n\nFixed it.",
    );
    expect(readableSummary(`## Goal\nShip.\n\n---\n\n${mark}\n\nFixed it.`)).toBe(
      "## Goal\nShip.\n\n## Current turn\n\nFixed it.",
    );
  }
});

test("leaves out the tags that a model put around its whole summary", () => {
  const inside = "## Goal\n\nShip.\n<summary>\nhtml\n</summary>\nmore";
  expect(readableSummary(escapeMarks(`<summary>\n${inside}\n</summary>`))).toBe(inside);
});

test("reads summaries with the earlier heading of the carried blocks", () => {
  expect(readableSummary(`Done.\n\n## Carried Over\n\n<pinned>\nUse pnpm.\n</pinned>`)).toBe(
    "Done.\n\n## Pinned\n\nUse pnpm.",
  );
});

test("keeps other tags and references", () => {
  const text = "a\n<div>\n</div>\n&amp; &#65; &lt;div> b";
  expect(readableSummary(text)).toBe(text);
  expect(readableSummary(`${FRAMES.branchRecord.begin}\n\n${text}\n\n${FRAMES.branchRecord.end}`)).toBe(text);
});

const piece = fc.constantFrom(
  ..."< [ ( > ] / & ; \n * # - ＜ ［ pinned summary focus todo User Record of the earlier conversation : div".split(
    " ",
  ),
  " ",
  "&lt;div>",
  "&#91;",
  "&amp;",
  MARKS.splitTurn,
  "## Kept word for word",
  "[User]: ",
  "<pinned>",
  "</focus>",
  "е",
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
/** A reference that stands for a mark cannot be told from one that was typed. */
const hasTypedMark = (typed: string) => restoreMarks(typed, ["todo"]) !== typed;

test("restores every text in which nobody typed a reference to a mark", () => {
  fc.assert(
    fc.property(text, (typed) => {
      fc.pre(!hasTypedMark(typed));
      expect(restoreMarks(escapeMarks(typed, ["todo"]), ["todo"])).toBe(typed);
    }),
  );
});

test("a comment in a block of code is no heading", () => {
  const lines = readableLines("## Goal\n```sh\n# install\n```\n## Next");
  expect(lines.filter(({ isHeading }) => isHeading).map(({ text }) => text)).toEqual(["Goal", "Next"]);
  expect(lines.map(({ text }) => text)).toContain("# install");
});
