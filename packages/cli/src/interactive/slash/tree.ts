import { openTree } from "../tree/open-tree.ts";
import type { SlashCommand } from "./slash-command.ts";

export const tree: SlashCommand = {
  name: "tree",
  description: "Go to another place in the session's tree",
  run: (_args, work) => openTree(work),
};
