import { existsSync } from "node:fs";
import { nearestWord } from "@bonsai-agent/app/nearest-word";
import { counted } from "@bonsai-agent/app/numbers";
import { BonsaiError } from "@bonsai-agent/messages";
import type { SlashCommand } from "../interactive-context.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import { compactCommand, pinCommand, redoCommand, undoCommand } from "./compaction-commands.ts";
import { contextCommand } from "./context.ts";
import { copyCommand } from "./copy.ts";
import { demoCommand } from "./demo.ts";
import { helpCommand } from "./help.ts";
import { loginCommand, logoutCommand } from "./login.ts";
import { modelCommand, reloadModels } from "./model-commands.ts";
import { recallCommand } from "./recall.ts";
import {
  cloneCommand,
  exportCommand,
  forkCommand,
  importCommand,
  labelCommand,
  mergeCommand,
  nameCommand,
  newCommand,
  resumeCommand,
  treeCommand,
} from "./session-commands.ts";
import { sessionCommand } from "./session-facts.ts";
import { settingsCommand, trustCommand } from "./settings-commands.ts";
import { sourcesCommand } from "./summary-sources.ts";
import { readThemes, themeCommand } from "./theme.ts";
import { thinkingCommand } from "./thinking-command.ts";
import { viewCommand } from "./view.ts";

const quitCommand: SlashCommand = {
  name: "quit",
  description: "End bonsai",
  worksWhileBusy: true,
  run: (_args, context) => context.quit(),
};

const reloadCommand: SlashCommand = {
  name: "reload",
  description: "Load extensions, skills, prompt templates, keys and models anew",
  async run(_args, context) {
    const { host, notify } = context;
    reloadModels(context);
    for (const message of bindKeys(host.app.home)) notify(message, "warning");
    const { extensions, resources } = host.app;
    const { loaded, failed, elapsedMs } = await context.interruptible((signal) =>
      extensions.reload({ signal }),
    );
    await readThemes(host.app, context);
    const commands = await resources.commands();
    const count = (source: string) => commands.filter((each) => each.source === source).length;
    const more = [
      ...(count("prompt") > 0 ? [counted(count("prompt"), "prompt template")] : []),
      ...(count("skill") > 0 ? [counted(count("skill"), "skill")] : []),
    ];
    const what = [counted(loaded.length, "extension"), ...more].join(", ");
    notify(`${what} loaded in ${Math.round(elapsedMs)} ms.`);
    for (const each of failed) notify(`${each.path}: ${each.error.message}`, "error");
  },
};

/** Every command of the interactive mode, in the order of /help. The only list of them. */
export const slashCommands: readonly SlashCommand[] = [
  newCommand,
  treeCommand,
  mergeCommand,
  forkCommand,
  cloneCommand,
  labelCommand,
  resumeCommand,
  importCommand,
  nameCommand,
  sessionCommand,
  compactCommand,
  contextCommand,
  sourcesCommand,
  recallCommand,
  pinCommand,
  undoCommand,
  redoCommand,
  exportCommand,
  viewCommand,
  copyCommand,
  modelCommand,
  thinkingCommand,
  settingsCommand,
  themeCommand,
  loginCommand,
  logoutCommand,
  trustCommand,
  helpCommand(() => slashCommands),
  reloadCommand,
  demoCommand,
  quitCommand,
];

/** The command that a text is, with what stands behind its name. */
export function slashCommandOf(text: string): { command: SlashCommand; args: string } | undefined {
  const [, name, args = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = slashCommands.find((each) => each.name === name);
  return command === undefined ? undefined : { command, args: args.trim() };
}

/**
 * Why a text that begins as a command does is not sent; undefined for any other text, a path for instance.
 * @param more commands of extensions, templates and skills
 */
export function unknownCommand(text: string, more: readonly { name: string }[]): BonsaiError | undefined {
  const [, name] = /^\s*\/([a-z][\w:.-]*)(?=\s|$)/i.exec(text) ?? [];
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = [...slashCommands, ...more].map((command) => command.name);
  const meant = nearestWord(name.toLowerCase(), names);
  return new BonsaiError({
    code: "unknown_command",
    message: `There is no command /${name}.${meant === undefined ? "" : ` Did you mean /${meant}?`}`,
    hint: "/help lists the commands. A text for the model begins with another character.",
  });
}
