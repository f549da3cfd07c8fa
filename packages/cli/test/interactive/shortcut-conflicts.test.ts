import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test } from "vitest";
import { keys, shortcutConflicts } from "../../src/interactive/terminal/keys.ts";
import { withExtension } from "./extension-setup.ts";

afterEach(() => keys.bind({}));

test("an extension's shortcut may take only a free key", () =>
  everyRow([
    ["ctrl+shift+k", undefined],
    ["ctrl+o", "Ctrl-O, but Bonsai uses this key: Expand or fold tool output, thinking and summaries."],
    ["Ctrl+O", 'set another key for "expand" in keybindings.json'],
    ["shift+tab", "Next thinking level"],
    ["ctrl+a", 'set another key for "tui.editor.cursorLineStart"'],
    ["shift+ctrl+v", undefined],
    ["a", "you could no longer type"],
    ["ctrl+nothing", '"nothing" is not a key'],
  ])(([key, expected]) => {
    const found = shortcutConflicts(new Map([[key, { source: "mine.ts" }]]));
    expect(found).toEqual(
      expected === undefined ? [] : [expect.stringMatching(/^mine\.ts has a shortcut on /)],
    );
    expect(found.join()).toContain(expected ?? "");
  }));

test("a key that the user has given away is free", () => {
  keys.bind({ expand: ["ctrl+e"] });
  const on = (key: string) => shortcutConflicts(new Map([[key, { source: "mine.ts" }]]));
  expect(on("ctrl+o")).toEqual([]);
  expect(on("ctrl+e")).toEqual([expect.stringContaining("Expand or fold")]);
});

test("at the start, a key of ours that an extension takes is notified, and does what it did", async () => {
  const { terminal } = await withExtension(
    `bonsai.registerShortcut("ctrl+o", { handler: ({ ui }) => ui.notify("never") });
     bonsai.registerShortcut("ctrl+y", { handler: ({ ui }) => ui.notify("the extension's") });`,
  );
  await terminal.until((screen) =>
    screen.replaceAll(/\s+/g, " ").includes("drawn.mjs has a shortcut on Ctrl-O"),
  );
  terminal.press("ctrl+o", "ctrl+y");
  expect(await terminal.until("the extension's")).not.toContain("never");
});
