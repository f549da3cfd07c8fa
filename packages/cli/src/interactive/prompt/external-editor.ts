import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { InteractiveWork } from "../interactive-work.ts";

/** The text of the editor in the user's own one. What was typed stays, unless that one ends well. */
export async function writeOutside(work: InteractiveWork): Promise<void> {
  const { editor, host, screen } = work;
  const { env } = host.workshop.call.io;
  const command = env.VISUAL || env.EDITOR;
  if (!command) {
    work.tell({ level: "warning", message: "Neither VISUAL nor EDITOR names an editor." });
    return;
  }
  screen.stop();
  try {
    const written = await writtenIn(command, editor.getExpandedText());
    editor.setText(written);
  } catch (error) {
    work.tell({ level: "error", message: (error as Error).message });
  } finally {
    screen.resume();
  }
}

/**
 * Lets a program change a text in a file of its own.
 * @param command as in `$EDITOR`: a command of the shell, the file behind it
 * @throws BonsaiError `editor_failed`
 */
export async function writtenIn(command: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bonsai-prompt-"));
  const file = join(folder, "prompt.md");
  try {
    await writeFile(file, text, { mode: 0o600 });
    await ended(command, file);
    return (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function ended(command: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(`${command} "${file}"`, { shell: true, stdio: "inherit" });
    child.on("error", (cause) => reject(failed(command, cause.message, cause)));
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(failed(command, signal === null ? `it ended with ${code}` : `it was ended by ${signal}`));
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
