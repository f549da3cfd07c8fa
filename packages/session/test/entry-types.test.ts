import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { expect, test } from "vitest";
import { type Entry, entryKind, entryParts, entryTexts, pinChange } from "../src/index.ts";

const user = { role: "user", content: "Fix the\n totals.", timestamp: 0 };
const read = {
  type: "toolCall",
  id: "c",
  name: "read",
  arguments: { path: "a.ts", options: [1, { to: 20 }] },
};
const says = (message: object) => ({ type: "message", message });
const image = { type: "image", data: "", mimeType: "image/png" };
const custom = (customType: unknown, data?: unknown) => ({ type: "custom", customType, data });
const pin = (customType: string, details: unknown, content = "Framed for the model.") => ({
  ...{ type: "custom_message", customType, content, details },
});
const result = (toolName: string, text: string) =>
  says({ role: "toolResult", toolName, content: [{ type: "text", text }] });
const recalled = framed(FRAMES.recalled, "Never push.");
const pinned = { text: "Never push.", line: "- Never push." };

const entries: [string, object, line: string, kind: string, texts: string[]][] = [
  ["a user's text", says(user), "Fix the totals.", "user", ["Fix the\n totals."]],
  [
    "a user's images",
    says({ ...user, content: [{ type: "text", text: "See" }, image, image] }),
    "See [2 images]",
    "user",
    ["See"],
  ],
  [
    "an answer with a call",
    says({ role: "assistant", content: [{ type: "text", text: "Reading." }, read] }),
    "Reading. → read a.ts · options 2",
    "assistant",
    ["Reading.", "read", "a.ts", "1", "20"],
  ],
  [
    "a failed answer",
    says({ role: "assistant", content: [], stopReason: "error", errorMessage: "no route" }),
    "[failed: no route]",
    "assistant",
    ["no route"],
  ],
  [
    "a stopped answer",
    says({ role: "assistant", content: [{ type: "text", text: "Half" }], stopReason: "aborted" }),
    "Half [stopped]",
    "assistant",
    ["Half"],
  ],
  [
    "an answer that was cut off",
    says({ role: "assistant", content: [{ type: "thinking", thinking: "Hm" }], stopReason: "length" }),
    "[cut off]",
    "assistant",
    ["Hm"],
  ],
  ["recalled texts", result("recall", recalled), "recall: Never push.", "result", [recalled]],
  [
    "a file that quotes the frame of recalled texts",
    result("read", FRAMES.recalled.end),
    `read: ${FRAMES.recalled.end}`,
    "result",
    [FRAMES.recalled.end],
  ],
  [
    "a failed result",
    says({ role: "toolResult", toolName: "read", isError: true, content: [{ type: "text", text: "gone" }] }),
    "failed read: gone",
    "result",
    ["gone"],
  ],
  [
    "a command of the user",
    says({ role: "bashExecution", command: "ls", output: "a.ts" }),
    "$ ls",
    "command",
    ["ls", "a.ts"],
  ],
  ["a message that is none", { type: "message", message: 7 }, "(no message)", "damaged", []],
  [
    "a compaction",
    { type: "compaction", summary: "[A note.]\n## Goal\nMake it right." },
    "Goal: Make it right.",
    "compaction",
    ["[A note.]\n## Goal\nMake it right."],
  ],
  ["a branch", { type: "branch_summary", summary: "Tried it." }, "Tried it.", "branch", ["Tried it."]],
  ["a hidden message", { type: "context_edit", targetId: "a", replacement: null }, "hides a", "edit", []],
  [
    "a masked message",
    { type: "context_edit", targetId: "a", replacement: { content: "[masked]" } },
    "masks a",
    "edit",
    ["[masked]"],
  ],
  ["a pin", pin("bonsai.pin", pinned), "Never push.", "pin", ["Never push."]],
  ["a removed pin", pin("bonsai.unpin", pinned), "unpinned: Never push.", "pin", ["Never push."]],
  [
    "a pin without its details",
    pin("bonsai.pin", undefined),
    "note of Bonsai: Framed for the model.",
    "note",
    ["Framed for the model."],
  ],
  ["a request to continue", pin("bonsai.continue", undefined, ""), "request to continue", "note", []],
  ["an extension's message", pin("of.mine", {}, "Hi"), "of.mine: Hi", "extension", ["Hi"]],
  ["an extension's record", custom("of.mine", { text: "secret" }), "of.mine", "extension", []],
  ["a record without its type", custom(undefined), "", "extension", []],
  ["a moved leaf", custom("bonsai.leaf"), "moved here", "note", []],
  ["an undo", custom("bonsai.undo", { compactionId: "k" }), "undo of compaction k", "note", []],
  ["a redo", custom("bonsai.redo", { compactionId: "k" }), "redo of compaction k", "note", []],
  ["an undo of nothing", custom("bonsai.undo", { compactionId: 7 }), "undo of a compaction", "note", []],
  ["a record of a later Bonsai", custom("bonsai.later"), "note of Bonsai", "note", []],
  ["a label", { type: "label", targetId: "a", label: "start" }, "start at a", "label", ["start"]],
  ["a removed label", { type: "label", targetId: "a" }, "removed from a", "label", []],
  ["a model", { type: "model_change", provider: "p", modelId: "m" }, "p/m", "model", ["m"]],
  ["a thinking level", { type: "thinking_level_change", thinkingLevel: "high" }, "high", "thinking", []],
  ["a name", { type: "session_info", name: "Prices" }, "Prices", "info", ["Prices"]],
  ["a cleared name", { type: "session_info" }, "", "info", []],
  [
    "the usage of a description",
    { type: "usage", kind: "session_digest", provider: "p", model: "m" },
    "session description: p/m",
    "usage",
    [],
  ],
  [
    "the usage of another request",
    { type: "usage", kind: "side_question", provider: "p", model: "m" },
    "side question: p/m",
    "usage",
    [],
  ],
  ["another program's entry", { type: "hologram", name: "x", label: 7 }, "", "hologram", ["x"]],
];
test("every type of entry has a line, a kind and texts to search", () => {
  for (const [name, entry, line, kind, texts] of entries) {
    const shown = entry as Entry;
    expect
      .soft(
        entryParts(shown)
          .map(({ text }) => text)
          .join(""),
        name,
      )
      .toBe(line);
    expect.soft(entryKind(shown), name).toBe(kind);
    expect.soft([...entryTexts(shown)], name).toEqual(texts);
  }
});

const unusableDetails: [string, unknown][] = [
  ["no details", undefined],
  ["no text", { line: "- x" }],
  ["no line", { text: "x" }],
  ["a text that is a number", { text: 7, line: "- x" }],
  ["a line that is a number", { text: "x", line: 7 }],
  ["an empty line", { text: "x", line: " " }],
];
test("a pin with unusable details pins nothing", () => {
  for (const [name, details] of unusableDetails)
    expect.soft(pinChange(pin("bonsai.pin", details) as Entry), name).toBeUndefined();
});

test("a pin and its removal are told apart", () => {
  expect(pinChange(pin("bonsai.pin", pinned) as Entry)).toEqual({ ...pinned, isPinned: true });
  expect(pinChange(pin("bonsai.unpin", pinned) as Entry)).toEqual({ ...pinned, isPinned: false });
  expect(pinChange({ ...pin("bonsai.pin", pinned), type: "custom" } as unknown as Entry)).toBeUndefined();
});
