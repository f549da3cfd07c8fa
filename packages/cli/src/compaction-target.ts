import { constants, copyFileSync, rmSync } from "node:fs";
import type { CompactionResult } from "@bonsai-agent/compaction";
import {
  cloneSession,
  type Entry,
  type EntryDraftWithId,
  SESSION_VERSION,
  type Session,
} from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";
import { outputFile } from "./output-file.ts";
import { rehearsal } from "./rehearsal.ts";
import { leafOf, openSessionFile, sessionFile } from "./session-file.ts";

/** Where a compaction takes place. */
export interface CompactionTarget {
  /** What is compacted: the session itself, or where `--leaf` names another place, a rehearsal standing there. */
  stage: Session;
  /** Writes what the stage came to, and gives back the file that holds it. */
  carryOut(result: CompactionResult): string;
  /** Leaves everything as it was found. */
  discard(): void;
}

/** The named session, or with `-o` a copy of it. */
export function openCompactionTarget(invocation: Invocation): CompactionTarget {
  const copy = outputFile(invocation);
  const session =
    copy === undefined ? openSessionFile(sessionFile(invocation), invocation) : copied(copy, invocation);
  const leafId = leafOf(session, invocation);
  const elsewhere = leafId !== session.leafId;
  return {
    stage: elsewhere ? rehearsal(session, leafId) : session,
    carryOut: (result) => {
      if (elsewhere) repeat(session, leafId, result);
      return session.file!;
    },
    discard: () => {
      session.close();
      if (copy !== undefined) rmSync(copy, { force: true });
    },
  };
}

/** A copy is byte for byte; of an older format it is one of today's, for the session could not go on in it. */
function copied(copy: string, invocation: Invocation): Session {
  const origin = sessionFile(invocation);
  const session = openSessionFile(origin, invocation);
  const old = (session.header.version ?? 1) < SESSION_VERSION;
  if (old) cloneSession(session, { file: copy });
  else copyFileSync(origin, copy, constants.COPYFILE_EXCL);
  session.close();
  return openSessionFile(copy, invocation);
}

/** What was rehearsed elsewhere is written in one go: a run that is cancelled or fails has written nothing. */
function repeat(session: Session, leafId: string | null, { edits, entry }: CompactionResult): void {
  if (entry === undefined) return;
  session.moveTo(leafId);
  session.append([...edits, entry].map(draftOf));
}

function draftOf({ parentId: _parentId, timestamp: _timestamp, ...draft }: Entry): EntryDraftWithId {
  return draft as EntryDraftWithId;
}
