import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { recordedSession } from "@bonsai-agent/testkit";

/** What the recorded session shows its model at its end; undefined where none lies beside the repository. Opening a file of an old version rewrites it: it is a copy that is opened. */
export function recordedMessages(): Message[] | undefined {
  const source = recordedSession();
  if (source === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "bonsai-needed-"));
  try {
    const file = join(folder, "recorded.jsonl");
    copyFileSync(source, file);
    const session = openSession(file);
    const messages = session.projection().items.map((item) => item.message);
    session.close();
    return messages;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
