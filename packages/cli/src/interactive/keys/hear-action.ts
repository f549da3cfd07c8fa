import { thinkingLevels } from "@bonsai-agent/models";
import type { InteractiveWork } from "../interactive-work.ts";
import { writeOutside } from "../prompt/external-editor.ts";
import { type KeyId, matchesKey } from "../terminal/tui.ts";
import { keys } from "./keys.ts";

/** Does what a key stands for while the editor has the keys. @returns false where it stands for nothing here */
export function hearAction(data: string, work: InteractiveWork): boolean {
  if (keys.matches("expand", data)) work.chat.toggleExpanded();
  else if (keys.matches("tree", data)) work.pressed("/tree");
  else if (keys.matches("pickModel", data)) work.pressed("/model");
  else if (keys.matches("cycleThinking", data)) void nextThinking(work);
  else if (keys.matches("externalEditor", data)) void writeOutside(work);
  else return hearShortcut(data, work);
  return true;
}

async function nextThinking({ host, tell }: InteractiveWork): Promise<void> {
  const { thinking, model } = host.agent.state;
  if (!model.reasoning) {
    tell({ level: "info", message: `${model.name} does not think before it answers.` });
    return;
  }
  const next = thinkingLevels[(thinkingLevels.indexOf(thinking) + 1) % thinkingLevels.length];
  if (next !== undefined) await host.agent.setThinking(next);
}

/** What extensions put on keys; the program's own actions were asked before. */
function hearShortcut(data: string, { host }: InteractiveWork): boolean {
  const { extensions } = host.workshop;
  const key = [...extensions.shortcuts.keys()].find((each) => matchesKey(data, each as KeyId));
  if (key === undefined) return false;
  void extensions.runShortcut(key);
  return true;
}
