import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../../views/error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** Edits the prompt in the user's own editor. A failure leaves the text unchanged. */
export async function editPromptOutside(context: InteractiveContext): Promise<void> {
  const text = context.editor.getExpandedText();
  const edited = await editOutside(context, text);
  // Folded pastes stay folded.
  if (edited !== undefined && edited !== text) context.editor.setText(edited);
}

/** Edits a text in the user's own editor. Reports a failure and returns undefined. */
export async function editOutside(context: InteractiveContext, text: string): Promise<string | undefined> {
  const { host, screen, notify, interruptible } = context;
  const env = { ...host.app.call.io.env };
  const usual = process.platform === "win32" ? "notepad" : "nano";
  const command = host.app.settings.editor || env.VISUAL || env.EDITOR || usual;
  return interruptible(async (signal) => {
    screen.stop();
    const restoreInterrupts = ignoreInterrupts();
    try {
      return await editInFile(command, text, { env, signal });
    } catch (error) {
      if (!signal.aborted) notify(errorText(error), "error");
      return undefined;
    } finally {
      restoreInterrupts();
      // A program that quits gives the terminal back itself.
      if (!signal.aborted) screen.resume();
    }
  });
}

type ProcessOptions = Pick<Parameters<typeof startProcess>[0], "env" | "signal">;

/** @throws BonsaiError `editor_failed` */
async function editInFile(command: string, text: string, options: ProcessOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bonsai-prompt-"));
  try {
    const file = join(folder, "prompt.md");
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(command, file, options);
    const edited = await readFile(file, "utf8").catch((cause: Error) => {
      throw failed(command, `its file cannot be read (${cause.message})`, cause);
    });
    // Many editors add a newline at the end of a file.
    return text.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Leaves a Ctrl-C on the terminal to the editor. @returns ends that */
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
    for (const restore of restores) restore();
  };
}

/** @param command as in `$EDITOR`: a command of the shell that takes the file as its last argument */
async function runEditor(command: string, file: string, options: ProcessOptions): Promise<void> {
  const shellLine = { command: `${command} "${file}"`, args: [], shell: true };
  const child = await startProcess({ ...shellLine, ...options, stdio: "inherit" }).catch((cause: Error) => {
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
