import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { generateWorkday, recordedSession } from "@bonsai-agent/testkit";

/** The messages that the recorded session shows its model at its end; undefined without a recorded session. */
export function recordedMessages(): Message[] | undefined {
  const source = recordedSession();
  if (source === undefined) return undefined;
  // Opening a file of an old version rewrites it, so this opens a copy.
  return messagesOf((file) => copyFileSync(source, file));
}

/** A made-up working day with about this many entries. */
export function workdayMessages(seed: number, entries: number): Message[] {
  return messagesOf((file) => generateWorkday({ file, seed, entries }));
}

function messagesOf(write: (file: string) => void): Message[] {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-day-"));
  try {
    const file = join(folder, "day.jsonl");
    write(file);
    const session = openSession(file);
    const messages = session.projection().items.map((item) => item.message);
    session.close();
    return messages;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
