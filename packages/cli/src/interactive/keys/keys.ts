import {
  type Keybinding,
  KeybindingsManager,
  type KeyId,
  setKeybindings,
  TUI_KEYBINDINGS,
} from "../terminal/tui.ts";
import { type ActionName, actionNames, actions } from "./actions.ts";
import { shownKey } from "./key-name.ts";

/** Keys by action, or by the name of one of the library's bindings. */
export type KeyBindings = Readonly<Record<string, readonly KeyId[]>>;

/** The library's own bindings that a user of the main screen meets: there, the terminal itself scrolls and copies. */
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

/** Owner of which key does what. The terminal library has one set of bindings in a process, and so has this. */
export class Keys {
  #manager = new KeybindingsManager(definitions);

  constructor() {
    setKeybindings(this.#manager);
  }

  /** Takes the user's bindings; all others have their default, but for a key that an action of the user's took. */
  bind(bindings: KeyBindings): void {
    const taken = new Set(Object.entries(bindings).flatMap(([name, keys]) => takenBy(name, keys)));
    const given: [string, KeyId[]][] = Object.entries(bindings).map(([name, keys]) => [
      idOf(name),
      [...keys],
    ]);
    const robbed: [string, KeyId[]][] = actionNames
      .filter((name) => bindings[name] === undefined && actions[name].keys.some((key) => taken.has(key)))
      .map((name) => [idOf(name), actions[name].keys.filter((key) => !taken.has(key))]);
    this.#manager = new KeybindingsManager(definitions, Object.fromEntries([...robbed, ...given]));
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

  /** All keys as they are shown. */
  labels(name: ActionName | Keybinding): string {
    const keys = this.keysOf(name).map(shownKey);
    return keys.length > 0 ? keys.join(", ") : name === "tree" ? this.label("tree") : "no key";
  }
}

/** The bindings of this process. */
export const keys = new Keys();

/** The keys that an action takes from others; a list shares them with the editor, as it has a place of its own. */
function takenBy(name: string, keys: readonly KeyId[]): readonly KeyId[] {
  if (Object.hasOwn(actions, name)) return keys;
  if (!isOfEditor(name)) return [];
  const shared = new Set(
    [TUI_KEYBINDINGS[name as keyof typeof TUI_KEYBINDINGS].defaultKeys].flat() as KeyId[],
  );
  return keys.filter((key) => !shared.has(key));
}

/** True for a binding of the library that stands beside the program's own while one types. */
export function isOfEditor(name: string): boolean {
  return name.startsWith("tui.editor.") || name.startsWith("tui.input.");
}

function idOf(name: string): string {
  const action = Object.hasOwn(actions, name) ? actions[name as ActionName] : undefined;
  return action === undefined ? name : (action.binding ?? `bonsai.${name}`);
}
