import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { AgentSettings } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  findSession,
  newSessionFile,
  openSession,
  rememberContinued,
  SESSION_VERSION,
  type Session,
} from "@bonsai-agent/session";
import { addMissingEntries, NewFile } from "@bonsai-agent/session/host";
import { outputExists, type SessionPlace, taskFiles, tasksFolder } from "../session-file.ts";
import {
  BUNDLE_FILE,
  carriedSettings,
  comparedSettings,
  type ExportedSetting,
  SESSION_FILE,
} from "./archive-format.ts";
import { archiveDamaged, unpackArchive } from "./archive-reader.ts";
import { checkpointCommits, type Unbundled, unbundleCheckpoints } from "./git-checkpoints.ts";

/** The bytes that an import added to a session, and whether they are a branch of it. */
interface Added {
  bytes: number;
  isBranch: boolean;
}

export interface ImportArchiveOptions {
  path: string;
  place: SessionPlace;
  /** A new file for the session, whatever sessions exist. Default: among the recorded ones. */
  file?: string | undefined;
  /** The folder to continue in. Its repository gets the checkpoints. */
  cwd: string;
  settings: AgentSettings;
  /** Stores the session in a database. Default: in a file. */
  push?: ((file: string) => Promise<Added>) | undefined;
}

export interface ArchiveImport {
  format: "bonsai";
  id: string;
  /** Undefined for a session in a database. */
  file?: string;
  /** A new session; entries added to a known one, at its end or as a branch; or nothing to add. */
  outcome: "imported" | "continued" | "branched" | "present";
  /** Bytes added to sessions. */
  bytes: number;
  /** Sessions of sub-agents that are new here. */
  taskCount: number;
  /** True if the export replaced secrets. */
  redacted: boolean;
  /** The import changes none of them. */
  settings: ExportedSetting[];
  /** As in the header: a path of the exporting machine. */
  parentSession: string | undefined;
  checkpoints?: Unbundled;
}

/**
 * Imports a session from an archive. Unpacks everything before it changes anything, and overwrites nothing.
 * @throws BonsaiError `archive_damaged`, `archive_too_new`, `output_exists`, `session_not_created`
 */
export async function importArchive(options: ImportArchiveOptions): Promise<ArchiveImport> {
  const { path, place, cwd, push } = options;
  const work = mkdtempSync(join(tmpdir(), "bonsai-import-"));
  let session: Session | undefined;
  try {
    const manifest = await unpackArchive(path, work);
    session = openUnpacked(join(work, SESSION_FILE), path);
    const commits = checkpointCommits(session);
    const here = carriedSettings(options.settings, session);
    const placed = push ? outcomeOf(await push(session.file!), "imported") : placeSession(session, options);
    const taskCount = placed.file === undefined ? 0 : placeTasks(session.file!, placed.file);
    if (placed.file !== undefined) rememberContinued(placed.file, { ...place, cwd });
    const bundle = { file: join(work, BUNDLE_FILE), cwd };
    return {
      ...{ format: "bonsai", id: session.id, ...placed, taskCount, redacted: manifest.redacted },
      ...{ settings: comparedSettings(manifest.settings, here), parentSession: session.header.parentSession },
      ...(commits.size > 0 && { checkpoints: await unbundleCheckpoints(commits, bundle) }),
    };
  } finally {
    session?.close();
    rmSync(work, { recursive: true, force: true });
  }
}

function openUnpacked(file: string, archive: string): Session {
  try {
    return openSession(file);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw archiveDamaged(archive, `its ${SESSION_FILE} is no session`, error);
  }
}

type Placed = Pick<ArchiveImport, "file" | "outcome" | "bytes">;

function outcomeOf({ bytes, isBranch }: Added, otherwise: "imported" | "continued"): Placed {
  return { outcome: bytes === 0 ? "present" : isBranch ? "branched" : otherwise, bytes };
}

/** Copies a session to its place, or adds its entries to the session that is there. */
function placeSession(session: Session, { place, file, cwd }: ImportArchiveOptions): Placed {
  const { header, id } = session;
  // An id comes from a file that anybody can write.
  const name = /^[\w-]{1,100}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 32);
  const known = file === undefined ? openKnown(name, place) : undefined;
  try {
    if (known?.id === id) return { ...addedTo(known, session), file: known.file! };
  } finally {
    known?.close();
  }
  const now = new Date(header.timestamp);
  const path = file ?? newSessionFile({ ...place, cwd: header.cwd || cwd, id: name, now });
  copyNew(session.file!, path);
  return { file: path, outcome: "imported", bytes: session.sizeBytes };
}

/** The recorded session with an id, or with the id in the name of its file. */
function openKnown(id: string, place: SessionPlace): Session | undefined {
  try {
    return openSession(findSession({ session: id, ...place }));
  } catch (error) {
    // A damaged file is no session with this id.
    if (!BonsaiError.is(error)) throw error;
    return undefined;
  }
}

function addedTo(known: Session, session: Session): Placed {
  const isOld = [known, session].some(({ header }) => header.version !== SESSION_VERSION);
  if (isOld && known.sizeBytes !== session.sizeBytes) throw outputExists(known.file!);
  return outcomeOf(addMissingEntries(known, session), "continued");
}

/** Copies the sessions of sub-agents beside their session. Existing ones stay. @returns how many are new */
function placeTasks(from: string, to: string): number {
  const names = taskFiles(from).map((file) => basename(file));
  const missing = names.filter((name) => !existsSync(join(tasksFolder(to), name)));
  for (const name of missing) copyNew(join(tasksFolder(from), name), join(tasksFolder(to), name));
  return missing.length;
}

/** @throws BonsaiError `output_exists` */
function copyNew(from: string, to: string): void {
  const file = new NewFile(to, outputExists);
  try {
    copyFileSync(from, file.temporaryPath);
    file.publish();
  } finally {
    file.discard();
  }
}
