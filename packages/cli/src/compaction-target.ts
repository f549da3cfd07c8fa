import { chmodSync, constants, copyFileSync } from "node:fs";
import {
  cloneSession,
  type Entry,
  NewFile,
  openSession,
  SESSION_VERSION,
  type Session,
  writeSessionFile,
} from "@bonsai-agent/session";
import type { ImportedSession } from "@bonsai-agent/transcripts";
import type { Invocation } from "./invocation.ts";
import { outputExists, outputFile } from "./output-file.ts";
import { draftOf, rehearsal } from "./rehearsal.ts";
import { leafOf, openNamedSession } from "./session-file.ts";
import { transcriptSession, unusedSessionFile } from "./transcript-session.ts";

/** Where a compaction takes place. */
export interface CompactionTarget {
  /** What is compacted: the session itself, or where `--leaf` names another place, a rehearsal standing there. */
  stage: Session;
  /** It goes to a file of its own. */
  isCopy: boolean;
  /** Writes what the stage came to, and gives back the file that holds it: with `-o`, only now there is one. */
  carryOut(): string;
  /** Ends the use of it. What was not carried out is as it was found. */
  close(): void;
}

/** The named session, or with `-o` a copy of it; of another agent's transcript, always a new session. */
export function openCompactionTarget(invocation: Invocation): CompactionTarget {
  const named = outputFile(invocation);
  const imported = transcriptSession(invocation);
  const path = named ?? (imported && unusedSessionFile(imported, invocation.io));
  if (path === undefined) return target({ session: openNamedSession(invocation), invocation });
  const copy = new NewFile(path, outputExists);
  try {
    const session = imported ? written(copy.temporaryPath, imported) : copied(copy.temporaryPath, invocation);
    return target({ session, copy, invocation });
  } catch (error) {
    copy?.discard();
    throw error;
  }
}

interface Opened {
  session: Session;
  /** What the session is in, until it is published. */
  copy?: NewFile;
  invocation: Invocation;
}

function target({ session, copy, invocation }: Opened): CompactionTarget {
  const leafId = leafOf(session, invocation);
  const rehearsed = leafId === session.leafId ? undefined : rehearsal(session, leafId);
  return {
    stage: rehearsed?.session ?? session,
    isCopy: copy !== undefined,
    carryOut: () => {
      if (rehearsed !== undefined) repeat(session, leafId, rehearsed.added());
      session.close();
      copy?.publish();
      return copy?.path ?? session.file!;
    },
    close: () => {
      session.close();
      copy?.discard();
    },
  };
}

function written(file: string, { header, entries }: ImportedSession): Session {
  writeSessionFile({ file, header, entries });
  return openSession(file);
}

/** A copy is byte for byte; of an older format it is one of today's, for the session could not go on in it. */
function copied(copy: string, invocation: Invocation): Session {
  const origin = openNamedSession(invocation);
  const old = (origin.header.version ?? 1) < SESSION_VERSION;
  if (old) cloneSession(origin, { file: copy });
  else copyBytes(origin.file!, copy);
  origin.close();
  // What is to be known about it was told of the origin.
  return openSession(copy);
}

function copyBytes(origin: string, copy: string): void {
  copyFileSync(origin, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  chmodSync(copy, 0o600);
}

/** What was rehearsed elsewhere is written in one go: a run that is cancelled or fails has written nothing. */
function repeat(session: Session, leafId: string | null, written: readonly Entry[]): void {
  if (written.length === 0) return;
  session.moveTo(leafId);
  session.append(written.map(draftOf));
}
