import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programPath, startProcess } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { settingsFile, writeSetting } from "../../call/settings-file.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askPick, askYesOrNo } from "../panels/ask.ts";

/** The text of the editor in the user's own one. What was typed stays, unless that one ends well. */
export async function writeOutside(context: InteractiveContext): Promise<void> {
  const text = context.editor.getExpandedText();
  const written = await editedOutside(context, text);
  // Folded pastes stay folded.
  if (written !== undefined && written !== text) context.editor.setText(written);
}

/** A text as the user's own editor gives it back; undefined where it does not, which the user is told. */
export async function editedOutside(context: InteractiveContext, text: string): Promise<string | undefined> {
  const { host, screen, notify, interruptible } = context;
  const { env } = host.app.call.io;
  const named = host.app.settings.editor || env.VISUAL || env.EDITOR;
  const command = named || (await pickedEditor(context));
  if (command === undefined) return undefined;
  return interruptible(async (signal) => {
    screen.stop();
    try {
      return await writtenIn({ command, env: { ...env } }, text, signal);
    } catch (error) {
      if (!signal.aborted) notify(errorText(error), "error");
      return undefined;
    } finally {
      // Whoever quits has the terminal already.
      if (!signal.aborted) screen.resume();
    }
  });
}

/** What the user picks of the editors that are there, where neither the setting nor the environment names one. */
async function pickedEditor(context: InteractiveContext): Promise<string | undefined> {
  const { host, screen, notify } = context;
  const found = editorsThere({ ...host.app.call.io.env });
  if (found.length === 0) {
    notify(
      `No editor found. Set VISUAL, EDITOR or the setting editor. Searched PATH for ${editors.join(", ")}.`,
      "warning",
    );
    return undefined;
  }
  const picked = await askPick<string>(screen, {
    title: "VISUAL and EDITOR are not set. Which editor?",
    items: found,
    key: String,
    text: String,
    row: (command) => ({ label: command }),
  });
  if (picked !== undefined) await remember(picked, context);
  return picked;
}

/** Those that wait until the file is closed; of a terminal first, the simplest before. */
const editors: readonly string[] =
  process.platform === "win32"
    ? ["notepad", "code --wait"]
    : "nano,micro,vim,nvim,vi,hx,kak,joe,mg,emacs -nw,code --wait,codium --wait,zed --wait,subl --wait".split(
        ",",
      );

function editorsThere(env: NodeJS.ProcessEnv): string[] {
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return editors.filter((command) => {
    const [name = ""] = command.split(" ", 1);
    return endings.some((ending) => programPath(`${name}${ending}`, env) !== undefined);
  });
}

/** For this call of the program in any case; as a setting if the user says so. */
async function remember(editor: string, { host, screen, notify }: InteractiveContext): Promise<void> {
  host.app.settings = { ...host.app.settings, editor };
  const isKept = await askYesOrNo(screen, {
    title: "Save this editor?",
    message: `Yes adds "editor": ${JSON.stringify(editor)} to ${settingsFile(host.app.home)}. Otherwise Bonsai asks again after the next start.`,
  });
  if (isKept !== true) return;
  try {
    writeSetting(host.app.home, ["editor"], editor);
  } catch (error) {
    notify(errorText(error), "error");
  }
}

/** How a program is called. */
interface EditorCall {
  /** As in `$EDITOR`: a command of the shell, the file behind it. */
  command: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Lets a program change a text in a file of its own.
 * @param signal ends the program
 * @throws BonsaiError `editor_failed`
 */
async function writtenIn(call: EditorCall, text: string, signal: AbortSignal): Promise<string> {
  const restoreInterrupts = ignoreInterrupts();
  try {
    return await inFile({ command: call.command, text }, (file) => ended(call, file, signal));
  } finally {
    restoreInterrupts();
  }
}

async function inFile(
  { command, text }: { command: string; text: string },
  change: (file: string) => Promise<void>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bonsai-prompt-"));
  try {
    const file = join(folder, "prompt.md");
    await writeFile(file, text, { mode: 0o600 });
    await change(file);
    const written = await readFile(file, "utf8").catch((cause: Error) => {
      throw failed(command, `its file cannot be read (${cause.message})`, cause);
    });
    // Many editors end a file with a new line of their own.
    return text.endsWith("\n") ? written : written.replace(/\r?\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A Ctrl-C on the terminal is for the program that has it. @returns ends that */
function ignoreInterrupts(): () => void {
  const restores = (["SIGINT", "SIGQUIT"] as const).map((name) => {
    const listeners = process.listeners(name);
    const ignore = () => {};
    process.removeAllListeners(name);
    process.on(name, ignore);
    return () => {
      process.removeListener(name, ignore);
      for (const listener of listeners) process.on(name, listener);
    };
  });
  return () => {
    for (const each of restores) each();
  };
}

async function ended({ command, env }: EditorCall, file: string, signal: AbortSignal): Promise<void> {
  const shellLine = { command: `${command} "${file}"`, args: [], shell: true };
  const child = await startProcess({ ...shellLine, env, stdio: "inherit", signal }).catch((cause: Error) => {
    throw failed(command, cause.message, cause);
  });
  await new Promise<void>((resolve, reject) => {
    child.on("error", (cause) => reject(failed(command, cause.message, cause)));
    child.on("exit", (code, by) => {
      if (code === 0) resolve();
      else if (code === 127) reject(failed(command, "the command does not exist"));
      else reject(failed(command, by === null ? `exit code ${code}` : `it was stopped by ${by}`));
    });
  });
}

function failed(command: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "editor_failed",
    message: `The editor ${command} failed: ${why}. Your text is unchanged.`,
    hint: "Set VISUAL, EDITOR or the setting editor to a command that waits until the file is closed, such as code --wait.",
    ...(cause === undefined ? {} : { cause }),
  });
}
