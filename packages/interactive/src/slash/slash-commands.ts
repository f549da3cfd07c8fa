import { existsSync } from "node:fs";
import { nearestWord } from "@bonsai-agent/app/nearest-word";
import type { CommandInfo } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { SlashCommand } from "../interactive-context.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import { compact, pin, undo } from "./compaction-commands.ts";
import { context } from "./context.ts";
import { demo } from "./demo.ts";
import { helpCommand } from "./help.ts";
import { login } from "./login.ts";
import { model, reloadModels, thinking } from "./model-commands.ts";
import { clone, exportSession, fork, label, name, newSession, resume, tree } from "./session-commands.ts";
import { session } from "./session-facts.ts";
import { settings, trust } from "./settings-commands.ts";

const quit: SlashCommand = {
  name: "quit",
  description: "End bonsai",
  worksWhileBusy: true,
  run: (_args, work) => work.quit(),
};

const reload: SlashCommand = {
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

/** Every command of the interactive mode, in the order of /help. The only list of them. */
export const slashCommands: readonly SlashCommand[] = [
  newSession,
  tree,
  fork,
  clone,
  label,
  resume,
  name,
  session,
  compact,
  context,
  pin,
  undo,
  exportSession,
  model,
  thinking,
  settings,
  login,
  trust,
  helpCommand(() => slashCommands),
  reload,
  demo,
  quit,
];

/** The command that a text is, with what stands behind its name. */
export function slashCommandOf(text: string): { command: SlashCommand; args: string } | undefined {
  const [, name, args = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = slashCommands.find((each) => each.name === name);
  return command === undefined ? undefined : { command, args: args.trim() };
}

/** Why a text that begins as a command does is not sent; undefined for any other text, a path for instance. */
export function unknownCommand(text: string, ofExtensions: readonly CommandInfo[]): BonsaiError | undefined {
  const [, name] = /^\s*\/([a-z][\w:-]*)(?=\s|$)/i.exec(text) ?? [];
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = [...slashCommands, ...ofExtensions].map((command) => command.name);
  const meant = nearestWord(name.toLowerCase(), names);
  return new BonsaiError({
    code: "unknown_command",
    message: `There is no command /${name}.${meant === undefined ? "" : ` Did you mean /${meant}?`}`,
    hint: "/help lists the commands. A text for the model begins with another character.",
  });
}
