import type { ComponentKeybindings } from "@bonsai-agent/extension";

/** Our actions by pi's names; those of the terminal library are the same. */
const actions: Readonly<Record<string, string>> = {
  "app.interrupt": "interrupt",
  "app.clear": "clearOrQuit",
  "app.exit": "quit",
  "app.suspend": "suspend",
  "app.thinking.cycle": "cycleThinking",
  "app.model.select": "pickModel",
  "app.tools.expand": "expand",
  "app.editor.external": "externalEditor",
  "app.message.followUp": "queueFollowUp",
  "app.message.dequeue": "takeBackQueued",
  "app.session.tree": "tree",
};

export function piKeybindings(keybindings: ComponentKeybindings): ComponentKeybindings {
  return {
    matches: (data, action) => keybindings.matches(data, actions[action] ?? action),
    getKeys: (action) => keybindings.getKeys(actions[action] ?? action),
  };
}
