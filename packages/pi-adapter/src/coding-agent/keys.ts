/** Keys by the names of pi's actions, as far as hints mention them. */
const keys: Readonly<Record<string, string>> = {
  "tui.select.confirm": "enter",
  "tui.select.cancel": "escape",
  "tui.select.up": "up",
  "tui.select.down": "down",
  "app.tools.expand": "ctrl+o",
  "app.interrupt": "escape",
  expandTools: "ctrl+o",
  interrupt: "escape",
  selectConfirm: "enter",
  selectCancel: "escape",
};

/** The key of an action; one that is not known is shown by its name. */
export function keyText(action: string): string {
  return keys[action] ?? action;
}

export function keyHint(action: string, description: string): string {
  return `${keyText(action)} ${description}`;
}

export function rawKeyHint(key: string, description: string): string {
  return `${key} ${description}`;
}
