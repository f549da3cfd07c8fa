import { describedCommand, type ResourceCommand } from "../../call/resources.ts";
import { type Line, marked, paragraph, span } from "../../views/line.ts";
import { oneLine, textWidth, wrap } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { showReport } from "../panels/report-panel.ts";
import { keybindingsFile } from "../terminal/keybindings-file.ts";
import { type ActionName, actionNames, actions, keys, libraryBindings, shownKey } from "../terminal/keys.ts";
import { type Keybinding, type KeyId, TUI_KEYBINDINGS } from "../terminal/tui.ts";

/** @param commands a function, because this command is one of them */
export function helpCommand(commands: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: "help",
    description: "Show commands and keys",
    worksWhileBusy: true,
    run: (_args, context) => showHelp(commands(), context),
  };
}

async function showHelp(
  commands: readonly SlashCommand[],
  { host, screen }: InteractiveContext,
): Promise<void> {
  const { extensions, resources, home } = host.app;
  const ofFiles = await resources.commands();
  const facts: HelpFacts = {
    commands,
    templates: ofFiles.filter(({ source }) => source === "prompt"),
    skills: ofFiles.filter(({ source }) => source === "skill"),
    moreCommands: extensions.now.commands,
    shortcuts: extensions.now.shortcuts,
    keysFile: keybindingsFile(home),
  };
  await showReport(screen, (width) => helpLines(facts, width));
}

export interface HelpFacts {
  commands: readonly SlashCommand[];
  templates: readonly ResourceCommand[];
  skills: readonly ResourceCommand[];
  moreCommands: readonly { name: string; description?: string | undefined }[];
  /** By key. */
  shortcuts: ReadonlyMap<string, { description?: string | undefined }>;
  keysFile: string;
}

type Row = readonly [name: string, description: string];

const NAME_COLUMNS = 24;
/** Two before and at least two after it. */
const BLANKS_AROUND_NAME = 4;
const MIN_DESCRIPTION_COLUMNS = 24;

/** The lines of /help: commands, keys and additions of extensions. */
export function helpLines(facts: HelpFacts, width: number): Line[] {
  const { commands, templates, skills, moreCommands, shortcuts, keysFile } = facts;
  const sections: readonly (readonly [string, readonly Row[]])[] = [
    ["Commands", commands.map(commandRow)],
    ["Extension commands", moreCommands.map(({ name, description = "" }) => [`/${name}`, description])],
    ["Prompt templates", templates.map(resourceRow)],
    ["Skills", skills.map(resourceRow)],
    ["Special input", typedRows()],
    ["Keys", actionNames.map(actionRow)],
    [
      "Extension keys",
      [...shortcuts].map(([key, { description = "" }]) => [shownKey(key as KeyId), description]),
    ],
    ["Editor and list keys", editorRows()],
  ];
  const note = `Change keys in ${keysFile}, for example {"expand": "ctrl+e"} or {"quit": ["ctrl+q", "f10"]}. Then run /reload.`;
  return [
    ...sections.filter(([, rows]) => rows.length > 0).flatMap(([title, rows]) => section(title, rows, width)),
    ...paragraph(note, width, "dim"),
  ];
}

function typedRows(): Row[] {
  return [
    ["@file", "Attach a file or image. Tab completes the path"],
    ["!command", "Run a shell command. The model sees its output"],
    ["!!command", "Run a shell command. The model does not see it"],
    [`\\ ${keys.label("submit")}`, "New line, for terminals without Shift-Enter"],
  ];
}

function commandRow({
  name,
  argumentHint,
  description,
}: Pick<SlashCommand, "name" | "description"> & { argumentHint?: string | undefined }): Row {
  return [argumentHint === undefined ? `/${name}` : `/${name} ${argumentHint}`, description];
}

function resourceRow({ name, argumentHint, ...more }: ResourceCommand): Row {
  return commandRow({ name, argumentHint, description: describedCommand(more) });
}

function actionRow(name: ActionName): Row {
  return [keys.labels(name), `${actions[name].description} (${name})`];
}

function editorRows(): Row[] {
  const aliases = new Set<string>(actionNames.flatMap((name) => actions[name].binding ?? []));
  return libraryBindings
    .filter((id) => !aliases.has(id) && keys.keysOf(id as Keybinding).length > 0)
    .map((id) => [
      keys.labels(id as Keybinding),
      `${TUI_KEYBINDINGS[id as keyof typeof TUI_KEYBINDINGS].description} (${id})`,
    ]);
}

function section(title: string, rows: readonly Row[], width: number): Line[] {
  const columns =
    Math.min(NAME_COLUMNS, Math.max(...rows.map(([name]) => textWidth(name)))) + BLANKS_AROUND_NAME;
  return [...paragraph(title, width, "bold"), ...rows.flatMap((row) => rowLines(row, columns, width)), []];
}

/** Name and description side by side if both fit, else below each other. */
function rowLines([name, description]: Row, columns: number, width: number): Line[] {
  const text = oneLine(description);
  const blanks = columns - BLANKS_AROUND_NAME - textWidth(name);
  if (blanks >= 0 && width - columns >= MIN_DESCRIPTION_COLUMNS)
    return marked(span(`  ${name}  ${" ".repeat(blanks)}`, "cyan"), wrap(text, width - columns));
  return [...paragraph(name, width, "cyan", 2), ...(text === "" ? [] : paragraph(text, width, undefined, 4))];
}
