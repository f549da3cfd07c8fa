import type { KeyId } from "../terminal/tui.ts";

const modifiers = ["ctrl", "shift", "alt", "super"];
const named =
  "escape esc enter return tab space backspace delete insert clear home end pageUp pageDown up down left right f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12";
const namedKeys = new Map(named.split(" ").map((name) => [name.toLowerCase(), name]));
/** Those that write nothing. */
const silent = new Set([...namedKeys.values()].filter((name) => name !== "space"));

export type KeyReading = { key: KeyId } | { fault: string };

/** A key as people write it, like `Ctrl+O`. */
export function readKey(text: string): KeyReading {
  const [, prefix = "", last = ""] = /^((?:[a-z]+\+)*)(.+)$/is.exec(text.trim()) ?? [];
  const held = prefix.toLowerCase().split("+").filter(Boolean);
  const strange = held.find((each, at) => !modifiers.includes(each) || held.indexOf(each) !== at);
  if (strange !== undefined) return { fault: `"${strange}" is no modifier, or stands twice` };
  const base = namedKeys.get(last.toLowerCase()) ?? (/^[!-~]$/.test(last) ? last.toLowerCase() : undefined);
  if (base === undefined) return { fault: `"${last}" is no key` };
  if (!silent.has(base) && held.every((each) => each === "shift"))
    return { fault: "it could no longer be typed; hold ctrl, alt or super with it" };
  return { key: [...held, base].join("+") as KeyId };
}

/** What {@link readKey} takes, for people. */
export const keyRule =
  'A key is like "ctrl+o", "alt+enter" or "f5": any of ctrl, shift, alt and super, then one character or a name (escape, enter, tab, up, pageDown, f1 to f12 …).';

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
