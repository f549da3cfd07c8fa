import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** The text of the editor in the user's own one. What was typed stays, unless that one ends well. */
export async function writeOutside(context: InteractiveContext): Promise<void> {
  const text = context.editor.getExpandedText();
  const written = await editedOutside(context, text);
  // Folded pastes stay folded.
  if (written !== undefined && written !== text) context.editor.setText(written);
}

/** A text as the user's own editor gives it back; undefined where it does not, which the user is told. */
export async function editedOutside(
  { host, screen, notify, interruptible }: InteractiveContext,
  text: string,
): Promise<string | undefined> {
  const { env } = host.app.call.io;
  const command = env.VISUAL || env.EDITOR;
  if (!command) {
    notify("Neither VISUAL nor EDITOR names an editor.", "warning");
    return undefined;
  }
  return interruptible(async (signal) => {
    screen.stop();
    try {
      return await writtenIn(command, text, signal);
    } catch (error) {
      if (!signal.aborted) notify(errorText(error), "error");
      return undefined;
    } finally {
      // Whoever quits has the terminal already.
      if (!signal.aborted) screen.resume();
    }
  });
}

/**
 * Lets a program change a text in a file of its own.
 * @param command as in `$EDITOR`: a command of the shell, the file behind it
 * @param signal ends the program
 * @throws BonsaiError `editor_failed`
 */
async function writtenIn(command: string, text: string, signal: AbortSignal): Promise<string> {
  const restoreInterrupts = ignoreInterrupts();
  try {
    return await inFile({ command, text }, (file) => ended(command, file, signal));
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

async function ended(command: string, file: string, signal: AbortSignal): Promise<void> {
  const shellLine = { command: `${command} "${file}"`, args: [], shell: true };
  const child = await startProcess({ ...shellLine, stdio: "inherit", signal }).catch((cause: Error) => {
    throw failed(command, cause.message, cause);
  });
  await new Promise<void>((resolve, reject) => {
    child.on("error", (cause) => reject(failed(command, cause.message, cause)));
    child.on("exit", (code, by) => {
      if (code === 0) resolve();
      else if (code === 127) reject(failed(command, "there is no such command"));
      else reject(failed(command, by === null ? `it ended with ${code}` : `it was ended by ${by}`));
    });
  });
}

function failed(command: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "editor_failed",
    message: `The editor ${command} did not give a text back: ${why}. What you typed is as it was.`,
    hint: "VISUAL or EDITOR should name an editor that waits until the file is closed, like code --wait.",
    ...(cause === undefined ? {} : { cause }),
  });
}
