import { clone } from "./clone.ts";
import { compact } from "./compact.ts";
import { context } from "./context.ts";
import { demo } from "./demo.ts";
import { exportSession } from "./export.ts";
import { fork } from "./fork.ts";
import { helpCommand } from "./help.ts";
import { label } from "./label.ts";
import { login } from "./login.ts";
import { model } from "./model.ts";
import { name } from "./name.ts";
import { newSession } from "./new.ts";
import { pin } from "./pin.ts";
import { quit } from "./quit.ts";
import { reload } from "./reload.ts";
import { resume } from "./resume.ts";
import { session } from "./session.ts";
import { settings } from "./settings.ts";
import type { SlashCommand } from "./slash-command.ts";
import { thinking } from "./thinking.ts";
import { tree } from "./tree.ts";
import { trust } from "./trust.ts";
import { undo } from "./undo.ts";

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
