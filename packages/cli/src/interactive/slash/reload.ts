import { bindKeys } from "../keys/keybindings-file.ts";
import { reloadModels } from "../session/reload-models.ts";
import type { SlashCommand } from "./slash-command.ts";

export const reload: SlashCommand = {
  name: "reload",
  description: "Load extensions, keys and models anew",
  async run(_args, work) {
    const { host, tell } = work;
    reloadModels(work);
    for (const message of bindKeys(host.workshop.home)) tell({ level: "warning", message });
    const { loaded, failed, elapsedMs } = await work.interruptible((signal) =>
      host.workshop.extensions.reload({ signal }),
    );
    const what = loaded.length === 1 ? "1 extension" : `${loaded.length} extensions`;
    tell({ level: "info", message: `${what} loaded in ${Math.round(elapsedMs)} ms.` });
    for (const each of failed) tell({ level: "error", message: `${each.path}: ${each.error.message}` });
  },
};
