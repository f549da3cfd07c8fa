import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { userDrafts } from "../src/import/injected.ts";

/** A text in a user message, what of it is the user's own, and what was put there by a program. */
const TEXTS: Array<[text: string, own: string | undefined, injected: string | undefined]> = [
  ["Never touch the tax table.", "Never touch the tax table.", undefined],
  ["Use <b> tags and a < b.", "Use <b> tags and a < b.", undefined],
  ["What is a <system-reminder>?", "What is a <system-reminder>?", undefined],
  ["<system-reminder>Be kind.</system-reminder>", undefined, "<system-reminder>Be kind.</system-reminder>"],
  [
    "<system-reminder>Be kind.</system-reminder>\nGo on.",
    "Go on.",
    "<system-reminder>Be kind.</system-reminder>",
  ],
  ["Go <system-reminder>x</system-reminder>on.", "Go on.", "<system-reminder>x</system-reminder>"],
  ["<system-reminder>never closed", undefined, "<system-reminder>never closed"],
  ["<command-name>/compact</command-name>", undefined, "<command-name>/compact</command-name>"],
  ["<bash-stdout>total 0</bash-stdout>", undefined, "<bash-stdout>total 0</bash-stdout>"],
  ["[Request interrupted by user]", undefined, "[Request interrupted by user]"],
  [
    "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
    undefined,
    "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
  ],
  ["# AGENTS.md instructions for /x\n\nUse tabs.", undefined, "# AGENTS.md instructions for /x\n\nUse tabs."],
  [
    "# Context from my IDE setup:\n\n## Active file: a.ts\n\n## My request for Codex:\nFix it.",
    "Fix it.",
    "# Context from my IDE setup:\n\n## Active file: a.ts\n\n",
  ],
];

describe("userDrafts", () => {
  test("separates injected text from the user's words", () =>
    everyRow(TEXTS)(([text, own, injected]) => {
      const drafts = userDrafts([{ type: "text", text }], "x");
      const message = drafts.find((draft) => draft.type === "message");
      const note = drafts.find((draft) => draft.type === "custom_message");
      expect(message?.message.role === "user" ? message.message.content : undefined).toBe(own);
      expect(note?.content).toBe(injected);
    }));

  test("images are the user's, unless the transcript says that the whole message is not", () => {
    const content = [{ type: "image", data: "aGk=", mimeType: "image/png" }] as const;
    const types = (injected: boolean) => userDrafts(content, "x", injected).map((draft) => draft.type);
    expect(types(false)).toEqual(["message"]);
    expect(types(true)).toEqual(["custom_message"]);
  });
});
