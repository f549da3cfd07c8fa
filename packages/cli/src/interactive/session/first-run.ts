import { defaultModel } from "@bonsai-agent/models";
import type { InteractiveWork } from "../interactive-work.ts";
import { isNoModel } from "../no-model.ts";
import { reloadModels } from "./reload-models.ts";

const firstRunLines = [
  "No model can be used yet; /demo plays a whole session without one.",
  "`bonsai compact FILE` works on your Claude Code, Codex and pi sessions.",
  "/login stores a key; a local server (Ollama, llama.cpp, …) is just found.",
].join("\n");

/** Says what works without a model. @returns false where there is one, and nothing was said */
export function tellFirstRun({ host, tell }: InteractiveWork): boolean {
  if (!isNoModel(host.agent.model)) return false;
  tell({ level: "info", message: firstRunLines });
  return true;
}

/** Looks again for a model where there was none: a key or a server may have come since. */
export async function hasModel(work: InteractiveWork): Promise<boolean> {
  const { agent, workshop } = work.host;
  if (!isNoModel(agent.model)) return true;
  reloadModels(work);
  const usable = await defaultModel(workshop.shelf);
  if (usable === undefined) {
    tellFirstRun(work);
    return false;
  }
  await agent.setModel(usable.model);
  work.screen.redraw();
  return true;
}
