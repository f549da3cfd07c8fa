import { forkChoice } from "../../work/session-control.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import type { SlashCommand } from "./slash-command.ts";

export const clone: SlashCommand = {
  name: "clone",
  description: "Go on in a copy of this session",
  run: (_args, work) => cloneSession(work),
};

async function cloneSession({ host, tell }: InteractiveWork): Promise<void> {
  const { leafId } = host.agent.session;
  if (leafId === null) {
    tell({ level: "info", message: "There is nothing to copy yet." });
    return;
  }
  const copied = await host.fork(leafId, forkChoice(host, leafId), "at");
  if (copied) tell({ level: "info", message: "This is a copy; the session before stays as it is." });
  else tell({ level: "warning", message: "An extension did not let the session be copied." });
}
