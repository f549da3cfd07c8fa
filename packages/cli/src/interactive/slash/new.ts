import { freshChoice } from "../../work/session-control.ts";
import type { SlashCommand } from "./slash-command.ts";

export const newSession: SlashCommand = {
  name: "new",
  description: "Begin a new session",
  async run(_args, { host, tell }) {
    const hasMoved = await host.replace("new", freshChoice(host));
    if (!hasMoved) tell({ level: "info", message: "An extension keeps this session open." });
  },
};
