import { existsSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome, MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import {
  detectTranscript,
  type ImportedSession,
  type ImportResult,
  importTranscript,
} from "@bonsai-agent/transcripts";
import type { Invocation } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { sessionFile } from "./session-file.ts";
import { importedSessionFile } from "./session-import.ts";

/**
 * Imports the transcript that a command's first argument names; undefined for a session.
 * @param outcome a sentence for the notice
 */
export function transcriptSession(
  invocation: Invocation,
  outcome = "Compacting it as a session.",
): ImportResult | undefined {
  const path = sessionFile(invocation);
  const found = detectTranscript(path);
  if (found === undefined || found.format === "session") return undefined;
  const imported = importTranscript({ path });
  invocation.output.notify({
    code: "transcript_read",
    message: `${path} is a transcript of ${found.program}. ${outcome} The transcript does not change.`,
  });
  return imported;
}

/** The default place of an imported session. @throws BonsaiError `output_exists` */
export function unusedSessionFile(imported: ImportedSession, io: CliIo): string {
  const file = importedSessionFile(imported.header, { home: bonsaiHome(io.env) });
  if (existsSync(file)) throw importedBefore(file);
  return file;
}

export function inMemory({ header, entries }: ImportedSession): Session {
  const store = new MemoryStore();
  for (const each of [header, ...entries]) store.append(`${JSON.stringify(each)}\n`);
  return openSession({ store });
}

function importedBefore(file: string): BonsaiError {
  return new BonsaiError({
    code: "output_exists",
    message: `This transcript was already imported: ${file}`,
    hint: "Compact that session, or choose another file with -o.",
  });
}
