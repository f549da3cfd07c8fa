import { type Keybinding, KeybindingsManager, type KeyId, setKeybindings, TUI_KEYBINDINGS } from "./tui.ts";

interface Action {
  readonly keys: readonly KeyId[];
  readonly description: string;
  /** The library's binding with this action. */
  readonly binding?: string;
}

const table = {
  submit: { keys: ["enter"], description: "Send", binding: "tui.input.submit" },
  newLine: { keys: ["shift+enter", "ctrl+j"], description: "New line", binding: "tui.input.newLine" },
  interrupt: { keys: ["escape"], description: "Stop the agent or the current action" },
  tree: {
    keys: [],
    description: "Session tree. In an empty editor, pressing the stop key twice opens it too",
  },
  clearOrQuit: { keys: ["ctrl+c"], description: "Clear the editor. Press twice to quit bonsai" },
  quit: { keys: ["ctrl+d"], description: "Quit bonsai, if the editor is empty" },
  expand: { keys: ["ctrl+o"], description: "Expand or fold tool output, thinking and summaries" },
  sources: { keys: ["ctrl+s"], description: "Show the sources of the latest summary" },
  cycleThinking: { keys: ["shift+tab"], description: "Next thinking level" },
  nextModel: { keys: ["ctrl+p"], description: "Next favourite model" },
  // Not every terminal knows the first; some send Alt-P for Alt-Up.
  previousModel: { keys: ["shift+ctrl+p", "alt+m"], description: "Previous favourite model" },
  pickModel: { keys: ["ctrl+l"], description: "Choose a model" },
  queueFollowUp: { keys: ["alt+enter"], description: "Send after the agent has finished" },
  takeBackQueued: { keys: ["alt+up"], description: "Move queued messages back into the editor" },
  paste: { keys: ["ctrl+v", "alt+v"], description: "Paste an image or text from the clipboard" },
  copy: { keys: ["ctrl+x"], description: "Copy the last answer or its code" },
  externalEditor: { keys: ["ctrl+g"], description: "Write the prompt in your own editor" },
  suspend: { keys: ["ctrl+z"], description: "Suspend bonsai" },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof table;

/** The actions of the interactive mode, in the order of /help. */
export const actions: Readonly<Record<ActionName, Action>> = table;

export const actionNames = Object.keys(table) as ActionName[];

const modifiers = ["ctrl", "shift", "alt", "super"];
const named =
  "escape esc enter return tab space backspace delete insert clear home end pageUp pageDown up down left right f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12";
const namedKeys = new Map(named.split(" ").map((name) => [name.toLowerCase(), name]));
/** Keys that write nothing. */
const silent = new Set([...namedKeys.values()].filter((name) => name !== "space"));

type KeyReading = { key: KeyId } | { fault: string };

/** A key as people write it, like `Ctrl+O`. */
export function readKey(text: string): KeyReading {
  const [, prefix = "", last = ""] = /^((?:[a-z]+\+)*)(.+)$/is.exec(text.trim()) ?? [];
  const held = prefix.toLowerCase().split("+").filter(Boolean);
  const strange = held.find((each, at) => !modifiers.includes(each) || held.indexOf(each) !== at);
  if (strange !== undefined) return { fault: `"${strange}" is not a modifier, or is used twice` };
  const base = namedKeys.get(last.toLowerCase()) ?? (/^[!-~]$/.test(last) ? last.toLowerCase() : undefined);
  if (base === undefined) return { fault: `"${last}" is not a key` };
  if (!silent.has(base) && held.every((each) => each === "shift"))
    return { fault: "you could no longer type this character. Add ctrl, alt or super" };
  return { key: [...held, base].join("+") as KeyId };
}

export const keyRule =
  'Write keys like "ctrl+o", "alt+enter" or "f5": ctrl, shift, alt or super, then a character or a name (escape, enter, tab, up, pageDown, f1 to f12…).';

const shownNames: Readonly<Record<string, string>> = {
  escape: "Esc",
  esc: "Esc",
  return: "Enter",
  pageUp: "PageUp",
  pageDown: "PageDown",
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
};

/** A key as it is shown, like `Ctrl-O`. */
export function shownKey(key: KeyId): string {
  const parts = key.endsWith("++") ? [...key.slice(0, -2).split("+"), "+"] : key.split("+");
  return parts.map((part) => shownNames[part] ?? part.charAt(0).toUpperCase() + part.slice(1)).join("-");
}

/** Keys by action, or by the name of one of the library's bindings. */
type KeyBindings = Readonly<Record<string, readonly KeyId[]>>;

/** The library's bindings, without those of its full screen and for copying: the terminal scrolls and copies itself. */
export const libraryBindings: readonly string[] = Object.keys(TUI_KEYBINDINGS).filter(
  (id) => !id.startsWith("tui.altScreen.") && id !== "tui.input.copy",
);

const definitions = {
  ...TUI_KEYBINDINGS,
  ...Object.fromEntries(
    actionNames.map((name) => [
      idOf(name),
      { defaultKeys: [...actions[name].keys], description: actions[name].description },
    ]),
  ),
};

/** Owner of the key bindings. The terminal library has one set of bindings in a process. */
class Keys {
  #manager = new KeybindingsManager(definitions);

  constructor() {
    setKeybindings(this.#manager);
  }

  /** Replaces the user's bindings. The other actions have their default keys, without those that the user has given away. */
  bind(bindings: KeyBindings): void {
    const taken = new Set(Object.entries(bindings).flatMap(([name, keys]) => takenBy(name, keys)));
    const given: [string, KeyId[]][] = Object.entries(bindings).map(([name, keys]) => [
      idOf(name),
      [...keys],
    ]);
    const reduced: [string, KeyId[]][] = actionNames
      .filter((name) => bindings[name] === undefined && actions[name].keys.some((key) => taken.has(key)))
      .map((name) => [idOf(name), actions[name].keys.filter((key) => !taken.has(key))]);
    this.#manager = new KeybindingsManager(definitions, Object.fromEntries([...reduced, ...given]));
    setKeybindings(this.#manager);
  }

  matches(action: ActionName, data: string): boolean {
    return this.#manager.matches(data, idOf(action) as Keybinding);
  }

  keysOf(name: ActionName | Keybinding): KeyId[] {
    return this.#manager.getKeys(idOf(name) as Keybinding);
  }

  /** The first key of an action as it is shown, like `Ctrl-O`; for the tree without a key, `Esc Esc`. */
  label(action: ActionName): string {
    const [key] = this.keysOf(action);
    if (key !== undefined) return shownKey(key);
    if (action !== "tree") return "no key";
    const stop = this.label("interrupt");
    return `${stop} ${stop}`;
  }

  labels(name: ActionName | Keybinding): string {
    const keys = this.keysOf(name).map(shownKey);
    return keys.length > 0 ? keys.join(", ") : name === "tree" ? this.label("tree") : "no key";
  }
}

export const keys = new Keys();

/** The keys that a user's binding takes from other actions. Lists and the editor share keys. */
function takenBy(name: string, keys: readonly KeyId[]): readonly KeyId[] {
  if (Object.hasOwn(actions, name)) return keys;
  if (!isOfEditor(name)) return [];
  const shared = new Set(
    [TUI_KEYBINDINGS[name as keyof typeof TUI_KEYBINDINGS].defaultKeys].flat() as KeyId[],
  );
  return keys.filter((key) => !shared.has(key));
}

/** True for the library's bindings in the editor. */
export function isOfEditor(name: string): boolean {
  return name.startsWith("tui.editor.") || name.startsWith("tui.input.");
}

function idOf(name: string): string {
  const action = Object.hasOwn(actions, name) ? actions[name as ActionName] : undefined;
  return action === undefined ? name : (action.binding ?? `bonsai.${name}`);
}

/** Describes conflicts of extensions' keys with those of Bonsai and the editor. */
export function shortcutConflicts(shortcuts: ReadonlyMap<string, { source: string }>): string[] {
  return [...shortcuts].flatMap(([given, { source }]) => {
    const who = `${source} has a shortcut on`;
    const read = readKey(given);
    if ("fault" in read) return [`${who} "${given}": ${read.fault}.`];
    const key = shownKey(read.key);
    const action = actionNames.find((name) => has(name, read.key));
    if (action !== undefined)
      return [
        `${who} ${key}, but Bonsai uses this key: ${actions[action].description}. To free it, set another key for "${action}" in keybindings.json.`,
      ];
    const binding = libraryBindings.filter(isOfEditor).find((name) => has(name, read.key));
    if (binding === undefined) return [];
    const { description } = TUI_KEYBINDINGS[binding as Keybinding];
    return [
      `${who} ${key} and replaces this key of the editor: ${description}. To get it back, set another key for "${binding}" in keybindings.json.`,
    ];
  });
}

function has(name: string, key: KeyId): boolean {
  return keys.keysOf(name as Keybinding).some((each) => sameKey(each) === sameKey(key));
}

function sameKey(key: KeyId): string {
  const parts = key.toLowerCase().split("+");
  return [...parts.slice(0, -1).sort(), parts.at(-1)].join("+");
}
