import { constants, copyFileSync, rmSync } from "node:fs";
import { openSession, type Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";
import { outputFile } from "./output-file.ts";
import { withReadingProgress } from "./progress.ts";
import { leafOf, sessionFile } from "./session-file.ts";

/** The session that a compaction writes to. */
export interface CompactionTarget {
  session: Session;
  /** Takes the copy away when nothing came of it. */
  discard(): void;
}

/** The named session, or with `-o` a copy of it; standing where `--leaf` says. */
export function openCompactionTarget(invocation: Invocation): CompactionTarget {
  const origin = sessionFile(invocation);
  const copy = outputFile(invocation);
  if (copy !== undefined) copyFileSync(origin, copy, constants.COPYFILE_EXCL);
  const file = copy ?? origin;
  const session = withReadingProgress(invocation.io, file, () => openSession(file));
  const leafId = leafOf(session, invocation);
  if (leafId !== session.leafId) session.moveTo(leafId);
  return {
    session,
    discard: () => {
      session.close();
      if (copy !== undefined) rmSync(copy, { force: true });
    },
  };
}
