import { resolve } from "node:path";
import { SESSION_VERSION } from "./entry.ts";
import { EntryIndex } from "./entry-index.ts";
import { JsonlStore } from "./jsonl-store.ts";
import { LineWriter } from "./line-writer.ts";
import { writeNewFile } from "./new-file.ts";
import { openSession } from "./open-session.ts";
import type { Problem } from "./problem.ts";
import { RepairedEntries } from "./repaired-entries.ts";
import { readHeader } from "./session-header.ts";

/**
 * Everything that is wrong in a session file, in file order; nothing for a sound one. Reads and parses all of it.
 * @throws BonsaiError `session_not_found`, `session_unreadable`, `session_empty`, `not_a_session`
 */
export function diagnoseSession(file: string): Problem[] {
  const session = openSession(file);
  try {
    return session.problems();
  } finally {
    session.close();
  }
}

/**
 * Writes a copy without the damages of a session file, of today's version. Sound lines are copied byte for
 * byte; whatever the model sees of the damaged file, it sees of the copy. The original is left as it is.
 * @param out path of the copy
 * @throws BonsaiError `session_not_found`, `session_empty`, `not_a_session`, `session_exists`,
 *   `session_not_created`
 */
export function repairSession(file: string, out: string): void {
  const store = JsonlStore.open(file);
  try {
    const { header, version } = readHeader(store);
    const index = new EntryIndex({ store, version });
    index.catchUp();
    writeNewFile(resolve(out), (fd) => {
      const writer = new LineWriter(fd, store);
      writer.write(JSON.stringify({ ...header, version: Math.max(version, SESSION_VERSION) }));
      new RepairedEntries({ store, index, version }).write(writer);
      writer.end();
    });
  } finally {
    store.close();
  }
}
