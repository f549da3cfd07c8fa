import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test } from "vitest";
import { bindKeys } from "../../src/interactive/terminal/keybindings-file.ts";
import { keys, readKey, shownKey } from "../../src/interactive/terminal/keys.ts";
import { getKeybindings } from "../../src/interactive/terminal/tui.ts";

afterEach(() => keys.bind({}));

const ctrl = (letter: string) => String.fromCharCode(letter.charCodeAt(0) - 96);

test("reads keys in any case", () =>
  everyRow([
    ["ctrl+o", "ctrl+o"],
    ["Ctrl+Shift+K", "ctrl+shift+k"],
    ["PAGEUP", "pageUp"],
    ["shift+Enter", "shift+enter"],
    ["ctrl++", "ctrl++"],
    ["f12", "f12"],
  ] as const)(([text, key]) => {
    expect(readKey(text)).toEqual({ key });
  }));

test("refuses an unusable key and gives the reason", () =>
  everyRow([
    ["hyper+o", '"hyper" is not a modifier'],
    ["ctrl+ctrl+o", '"ctrl" is not a modifier, or is used twice'],
    ["ctrl+oh", '"oh" is not a key'],
    ["", '"" is not a key'],
    ["ä", '"ä" is not a key'],
    ["a", "you could no longer type"],
    ["shift+a", "you could no longer type"],
    ["space", "you could no longer type"],
  ] as const)(([text, fault]) => {
    expect(readKey(text)).toEqual({ fault: expect.stringContaining(fault) });
  }));

test("shows keys as they are printed on a keyboard", () =>
  everyRow([
    ["escape", "Esc"],
    ["ctrl+o", "Ctrl-O"],
    ["shift+tab", "Shift-Tab"],
    ["ctrl++", "Ctrl-+"],
    ["alt+up", "Alt-↑"],
  ] as const)(([key, shown]) => {
    expect(shownKey(key)).toBe(shown);
  }));

test("every action has its default key without a file", () => {
  expect(bindKeys(home())).toEqual([]);
  expect(keys.matches("expand", ctrl("o"))).toBe(true);
  expect(keys.label("expand")).toBe("Ctrl-O");
  expect(keys.label("tree")).toBe("Esc Esc");
});

test("a key of the file takes the place of the default, for the editor's actions too", () => {
  expect(bindKeys(home({ expand: "ctrl+t", submit: ["alt+enter"], "tui.editor.undo": "ctrl+y" }))).toEqual(
    [],
  );
  expect(keys.matches("expand", ctrl("t"))).toBe(true);
  expect(keys.matches("expand", ctrl("o"))).toBe(false);
  expect(getKeybindings().getKeys("tui.input.submit")).toEqual(["alt+enter"]);
  expect(getKeybindings().getKeys("tui.editor.undo")).toEqual(["ctrl+y"]);
});

test("a key that the user gives to one action is taken from the default of another", () => {
  bindKeys(home({ expand: "ctrl+l" }));
  expect(keys.matches("expand", ctrl("l"))).toBe(true);
  expect(keys.matches("pickModel", ctrl("l"))).toBe(false);
  expect(keys.label("pickModel")).toBe("no key");
});

test("a key that the user gives to the editor is taken from the default of an action", () => {
  bindKeys(home({ "tui.editor.undo": "ctrl+o", "tui.editor.deleteCharForward": ["delete", "ctrl+d"] }));
  expect(keys.matches("expand", ctrl("o"))).toBe(false);
  expect(keys.label("expand")).toBe("no key");
  expect(keys.label("quit")).toBe("Ctrl-D");
});

test("a key of lists takes nothing from the editor", () => {
  bindKeys(home({ "tui.select.confirm": "ctrl+o" }));
  expect(keys.label("expand")).toBe("Ctrl-O");
});

test("the key that sends cannot be removed", () =>
  everyRow(["submit", "tui.input.submit"])((name) => {
    expect(bindKeys(home({ [name]: [] }))).toEqual([expect.stringContaining(`"${name}" needs a key`)]);
    expect(keys.label("submit")).toBe("Enter");
  }));

test("an empty list takes an action's keys away", () => {
  expect(bindKeys(home({ suspend: [] }))).toEqual([]);
  expect(keys.label("suspend")).toBe("no key");
});

test("a wrong part of the file is named, and the rest applies", () => {
  const folder = home({
    expnad: "ctrl+t",
    quit: 7,
    pickModel: ["nokey", "ctrl+p"],
    tree: "q",
    suspend: "f9",
  });
  const file = join(folder, "keybindings.json");
  const [unknown, number, half, letter, ...more] = bindKeys(folder);
  expect(unknown).toContain(`${file}: "expnad" is not an action. Did you mean "expand"?`);
  expect(number).toContain(`${file}: "quit" must be a key or a list of keys`);
  expect(half).toContain(`"pickModel" cannot use the key "nokey"`);
  expect(letter).toContain(`"tree" cannot use the key "q": you could no longer type`);
  expect(more).toEqual([]);
  expect(keys.keysOf("pickModel")).toEqual(["ctrl+p"]);
  expect(keys.label("quit")).toBe("Ctrl-D");
  expect(keys.label("suspend")).toBe("F9");
});

test("two actions on one key are notified", () => {
  expect(bindKeys(home({ expand: "f5", tree: "f5" }))).toEqual([
    expect.stringMatching(/"tree" and "expand" use the same key "f5"/),
  ]);
  expect(bindKeys(home({ "tui.editor.undo": "f5", tree: "f5" }))).toEqual([
    expect.stringMatching(/"tree" and "tui.editor.undo" use the same key "f5"/),
  ]);
});

test("an unreadable file leaves all defaults and is reported", () =>
  everyRow([
    ["{", "is not valid JSON"],
    ["[]", "must contain an object"],
    ["null", "must contain an object"],
    ['"x"', "must contain an object"],
  ] as const)(([text, fault]) => {
    const folder = home();
    writeFileSync(join(folder, "keybindings.json"), text);
    keys.bind({ expand: ["ctrl+t"] });
    expect(bindKeys(folder)).toEqual([expect.stringContaining(fault)]);
    expect(keys.label("expand")).toBe("Ctrl-O");
  }));

function home(bindings?: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-keys-"));
  if (bindings !== undefined) writeFileSync(join(folder, "keybindings.json"), JSON.stringify(bindings));
  return folder;
}
