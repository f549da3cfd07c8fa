import { resolve } from "node:path";
import type { Entry, SessionHeader } from "./entry.ts";
import { entryLine } from "./entry-body.ts";
import { LineWriter } from "./line-writer.ts";
import { writeNewFile } from "./new-file.ts";

/**
 * Writes a whole session to a new file, mode 0600: it appears complete or not at all.
 * @throws BonsaiError `session_exists`: a file is never overwritten; `session_not_created`.
 */
export function writeSessionFile(session: {
  file: string;
  header: SessionHeader;
  entries: readonly Entry[];
}): void {
  writeNewFile(resolve(session.file), (fd) => {
    const writer = new LineWriter(fd);
    writer.write(JSON.stringify(session.header));
    for (const entry of session.entries) writer.write(entryLine(entry));
    writer.end();
  });
}
