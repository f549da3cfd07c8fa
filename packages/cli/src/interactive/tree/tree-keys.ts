import { getKeybindings, type Keybinding, type KeyId, matchesKey } from "../terminal/tui.ts";

/** What can be done in the tree, beside the search. */
export type TreeAction =
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "first"
  | "last"
  | "fold"
  | "unfold"
  | "nextFilter"
  | "previousFilter"
  | "label"
  | "choose"
  | "leave";

/** Those that the user binds for all lists. */
const bindings: readonly (readonly [TreeAction, Keybinding])[] = [
  ["up", "tui.select.up"],
  ["down", "tui.select.down"],
  ["pageUp", "tui.select.pageUp"],
  ["pageDown", "tui.select.pageDown"],
  ["choose", "tui.select.confirm"],
  ["leave", "tui.select.cancel"],
];

const fixed: readonly (readonly [TreeAction, KeyId])[] = [
  ["first", "home"],
  ["last", "end"],
  ["fold", "left"],
  ["unfold", "right"],
  ["nextFilter", "tab"],
  ["nextFilter", "ctrl+f"],
  ["previousFilter", "shift+tab"],
  ["label", "ctrl+l"],
];

/** What a key does in the tree; undefined where it belongs to the search. */
export function treeAction(data: string): TreeAction | undefined {
  const manager = getKeybindings();
  return (
    bindings.find(([, binding]) => manager.matches(data, binding))?.[0] ??
    fixed.find(([, key]) => matchesKey(data, key))?.[0]
  );
}
