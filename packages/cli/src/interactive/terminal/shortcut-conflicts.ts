import { type ActionName, actionNames, actions, isOfEditor, keys, readKey, shownKey } from "./keys.ts";
import { type Keybinding, type KeyId, TUI_KEYBINDINGS } from "./tui.ts";

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
    const binding = editorBindings.find((name) => has(name, read.key));
    if (binding === undefined) return [];
    const { description } = TUI_KEYBINDINGS[binding];
    return [
      `${who} ${key} and replaces this key of the editor: ${description}. To get it back, set another key for "${binding}" in keybindings.json.`,
    ];
  });
}

const editorBindings = (Object.keys(TUI_KEYBINDINGS) as Keybinding[]).filter(isOfEditor);

function has(name: ActionName | Keybinding, key: KeyId): boolean {
  return keys.keysOf(name).some((each) => sameKey(each) === sameKey(key));
}

function sameKey(key: KeyId): string {
  const parts = key.toLowerCase().split("+");
  return [...parts.slice(0, -1).sort(), parts.at(-1)].join("+");
}
