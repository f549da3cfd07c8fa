import { BRANCH_RECORD, RECORD } from "@bonsai-agent/messages/frames";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { entryBody } from "../src/bodies.ts";
import { readableLines, readableSummary } from "../src/summary-text.ts";

const stored = [
  RECORD.begin,
  "",
  "## Goal",
  "Keep &lt;pinned> as text, &#91;Record] too.",
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
  "",
  RECORD.end,
];

test("shows headings instead of the tags and sentences for models", () => {
  expect(readableLines(stored)).toEqual([
    { text: "Goal", isHeading: true, at: 2 },
    { text: "Keep <pinned> as text, [Record] too.", isHeading: false, at: 3 },
    { text: "", isHeading: false, at: 4 },
    { text: "", isHeading: false, at: 6 },
    { text: "Pinned", isHeading: true, at: 7 },
    { text: "Use pnpm.", isHeading: false, at: 8 },
    { text: "## Not a heading", isHeading: false, at: 9 },
    { text: "My notes", isHeading: true, at: 11 },
    { text: "a note", isHeading: false, at: 12 },
  ]);
});

test("keeps unknown tags and references of a summary without marks", () => {
  const text = "a\n<div>\n</div>\n&amp; &#65; b";
  expect(readableSummary(text)).toBe(text);
  expect(readableSummary(`${BRANCH_RECORD.begin}\n\n${text}\n\n${BRANCH_RECORD.end}`)).toBe(text);
});

test("an undone compaction has a sentence, not the type of its entry", () => {
  const { session } = history("U:300 A:400 | U:300 A:150");
  const undo = session.append({
    type: "custom",
    customType: "bonsai.undo",
    data: { compactionId: "a1b2c3d4" },
  });
  expect(entryBody(undo, () => undefined).parts).toEqual([
    { type: "text", text: "Undo of compaction a1b2c3d4." },
  ]);
});
