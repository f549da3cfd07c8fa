import { listSessions } from "@bonsai-agent/session";
import { says } from "../call/agent-project.ts";
import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

export async function opened(options: OpenInteractiveOptions = {}): Promise<OpenedInteractive> {
  const opened = openInteractive({ scenario: says("Good."), rows: 40, ...options });
  await opened.terminal.until("/100k");
  return opened;
}

/** In a folder that has a session about animals already. @param more said in it too */
export async function openedAgain(more?: string): Promise<OpenedInteractive> {
  const first = await opened();
  await say(first, "about animals");
  if (more !== undefined) {
    first.terminal.type(`${more}\n`);
    await first.terminal.until((screen) => screen.split("Good.").length > 2);
  }
  await first.end();
  return opened({ project: first.project });
}

export async function say({ terminal }: OpenedInteractive, text: string): Promise<void> {
  terminal.type(`${text}\n`);
  await terminal.until("Good.");
}

/** Types a command and sends it, whatever the completion shows of it. */
export function command({ terminal }: OpenedInteractive, text: string): void {
  terminal.paste(text);
  terminal.press("enter");
}

/** Renames the chosen session of /resume. */
export async function renameChosen({ terminal }: OpenedInteractive, name: string): Promise<void> {
  terminal.press("ctrl+r");
  await terminal.until("Session name");
  terminal.press("ctrl+u");
  terminal.type(`${name}\n`);
  await terminal.until(`› ${name}`);
}

/** Deletes the chosen session of /resume. @returns the screen with the question */
export async function deleteChosen({ terminal }: OpenedInteractive): Promise<string> {
  terminal.press("ctrl+d");
  const asked = await terminal.until("Delete this session?");
  terminal.press("y");
  await terminal.until("Moved to");
  return asked;
}

/** Restores the deleted session of /resume. */
export async function restoreDeleted({ terminal }: OpenedInteractive): Promise<void> {
  terminal.press("ctrl+u");
  terminal.press("ctrl+z");
  await terminal.until("Restored the session.");
}

export function sessionsOf({ project }: OpenedInteractive) {
  return listSessions({ home: project.home, cwd: project.cwd }).sessions;
}
