import { existsSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import { nearestWord } from "../../views/nearest-word.ts";
import { counted } from "../../views/numbers.ts";
import type { SlashCommand } from "../interactive-context.ts";
import { bindKeys } from "../terminal/keybindings-file.ts";
import { keys } from "../terminal/keys.ts";
import { compactCommand, pinCommand, redoCommand, undoCommand } from "./compaction-commands.ts";
import { copyCommand } from "./copy.ts";
import { demoCommand } from "./demo.ts";
import { helpCommand } from "./help.ts";
import { loginCommand, removeLogin } from "./login.ts";
import { modelCommand, reloadModels } from "./model-commands.ts";
import { recallCommand } from "./recall.ts";
import { contextCommand, sessionCommand } from "./reports.ts";
import {
  exportCommand,
  forkCommand,
  forkWholeSession,
  mergeCommand,
  nameCommand,
  newCommand,
  openBrowserView,
  resumeCommand,
  treeCommand,
} from "./session-commands.ts";
import { settingsCommand } from "./settings.ts";
import { showSummarySources } from "./summary-sources.ts";
import { readThemes } from "./theme.ts";
import { trustCommand } from "./trust.ts";

const quitCommand: SlashCommand = {
  name: "quit",
  description: "Quit bonsai",
  worksWhileBusy: true,
  run: (_args, context) => context.quit(),
};

const reloadCommand: SlashCommand = {
  name: "reload",
  description: "Reload extensions, skills, prompt templates, themes, keys and models",
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
    notify(`Reloaded ${what} in ${Math.round(elapsedMs)} ms.`);
    for (const each of failed) notify(`${each.path}: ${each.error.message}`, "error");
  },
};

/** The commands of the interactive mode, in the order of /help. */
export const slashCommands: readonly SlashCommand[] = [
  newCommand,
  treeCommand,
  forkCommand,
  mergeCommand,
  resumeCommand,
  nameCommand,
  sessionCommand,
  compactCommand,
  contextCommand,
  recallCommand,
  pinCommand,
  undoCommand,
  redoCommand,
  exportCommand,
  copyCommand,
  modelCommand,
  settingsCommand,
  loginCommand,
  trustCommand,
  reloadCommand,
  helpCommand(() => slashCommands),
  quitCommand,
];

type AnyCommand = Omit<SlashCommand, "description">;

/** Former names that still work. No help, completion or document lists them. */
const hiddenCommands: readonly AnyCommand[] = [
  { name: "label", run: treeCommand.run },
  { name: "clone", run: (_args, context) => forkWholeSession(context) },
  { ...resumeCommand, name: "import" },
  {
    name: "sources",
    key: "sources",
    worksWhileBusy: true,
    run: (_args, context) => showSummarySources(context),
  },
  { name: "view", worksWhileBusy: true, run: (_args, context) => openBrowserView(context) },
  {
    name: "thinking",
    worksWhileBusy: true,
    run: (_args, context) => settingsCommand.run("thinking", context),
  },
  { name: "theme", worksWhileBusy: true, run: (_args, context) => settingsCommand.run("theme", context) },
  { name: "scoped-models", run: (_args, context) => modelCommand.run("", context) },
  { name: "logout", worksWhileBusy: true, run: removeLogin },
  { ...helpCommand(() => slashCommands), name: "hotkeys" },
  demoCommand,
];

const allCommands: readonly AnyCommand[] = [...slashCommands, ...hiddenCommands];

/** Names that extensions cannot use for commands. */
export const reservedNames: readonly string[] = allCommands.map(({ name }) => name);

/** For each command that only pi has: what to do in Bonsai. */
const OTHER_COMMANDS: ReadonlyMap<string, string> = new Map([
  ["share", "Bonsai uploads nothing. /export writes a page that you can share."],
  ["mcp", "MCP is an extension: run `bonsai extension add mcp`, then /reload."],
  ["llama", "Local servers are found automatically: choose their models with /model."],
  ["changelog", "`bonsai --version` shows the version."],
  ["bug", "/session shows the facts for a report."],
]);

export function commandOfKey(data: string): string | undefined {
  const command = allCommands.find(({ key }) => key !== undefined && keys.matches(key, data));
  return command && `/${command.name}`;
}

export function slashCommandOf(text: string): { command: AnyCommand; args: string } | undefined {
  const [, name, args = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = allCommands.find((each) => each.name === name);
  return command === undefined ? undefined : { command, args: args.trim() };
}

/**
 * The error for a text that looks like a command but is not one. Undefined for any other text, such as a path.
 * @param more commands of extensions, templates and skills
 */
export function unknownCommand(text: string, more: readonly { name: string }[]): BonsaiError | undefined {
  const [, name] = /^\s*\/([a-z][\w:.-]*)(?=\s|$)/i.exec(text) ?? [];
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = [...slashCommands, ...more].map((command) => command.name);
  const instead = OTHER_COMMANDS.get(name);
  const nearest = instead === undefined ? nearestWord(name.toLowerCase(), names) : undefined;
  return new BonsaiError({
    code: "unknown_command",
    message: `There is no command /${name}.${nearest === undefined ? "" : ` Did you mean /${nearest}?`}`,
    hint: `${instead ?? "/help lists the commands."} To send this text to the model, start it with another character.`,
  });
}
