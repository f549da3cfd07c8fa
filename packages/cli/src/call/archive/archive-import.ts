import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
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
import { addMissingEntries, makeFolder, NewFile } from "@bonsai-agent/session/host";
import { outputExists, type SessionPlace, startOf, tasksFolder } from "../session-file.ts";
import { archiveDamaged, openArchive } from "./archive-reader.ts";
import { BUNDLE_MARK, checkpointCommits, unbundleCheckpoints } from "./git-checkpoints.ts";
import {
  BUNDLE_FILE,
  type CarriedSettings,
  carriedSettings,
  SESSION_FILE,
  type Setting,
  TASK_FILE,
} from "./session-archive.ts";

export interface ImportArchiveOptions {
  path: string;
  place: SessionPlace;
  /** The session's path, whatever sessions exist. Default: among the recorded ones. */
  file?: string | undefined;
  /** The folder to continue in, in the repository that gets the checkpoints. */
  cwd: string;
  settings: AgentSettings;
  /** Takes the session instead of a folder: stores it in a database. */
  push?: ((file: string) => Promise<{ bytes: number; isBranch: boolean }>) | undefined;
}

export interface ArchiveImport {
  format: "bonsai";
  id: string;
  /** Undefined for a session in a database. */
  file?: string;
  /** A new file, entries added to a session that was here: at its end or as a branch, or nothing to add. */
  outcome: "imported" | "continued" | "branched" | "present";
  /** Bytes added to sessions. */
  bytes: number;
  taskCount: number;
  /** True if the export replaced secrets. */
  redacted: boolean;
  /** The model, the thinking level, and the settings of the export that have other values here. Nothing changes them. */
  settings: { name: string; value: Setting; here?: Setting }[];
  /** As in the header: a path of the machine of the export. */
  parentSession: string | undefined;
  checkpoints?: { count: number; restored: number; reason?: string };
}

/**
 * Imports a session from an archive. Unpacks everything before it changes anything, and overwrites nothing.
 * @throws BonsaiError `archive_damaged`, `archive_too_new`, `session_exists`, `session_not_created`
 */
export async function importArchive(options: ImportArchiveOptions): Promise<ArchiveImport> {
  const { path, place, file, cwd, push } = options;
  const archive = await openArchive(path);
  const folder = file === undefined ? (place.folder ?? join(place.home, "sessions")) : dirname(file);
  makeFolder(folder);
  // Beside the sessions: a rename works in one file system only.
  const work = mkdtempSync(join(folder, ".import-"));
  let session: Session | undefined;
  try {
    const unpacked = new Map<string, string>();
    for (const name of archive.names) {
      unpacked.set(name, join(work, String(unpacked.size)));
      await archive.extract(name, unpacked.get(name)!);
    }
    session = openUnpacked(unpacked.get(SESSION_FILE)!, path);
    const bundle = unpacked.get(BUNDLE_FILE);
    if (bundle !== undefined && !BUNDLE_MARK.test(startOf(bundle, 20)))
      throw archiveDamaged(path, `its ${BUNDLE_FILE} is no bundle of git`);
    const commits = checkpointCommits(session);
    const { id, header } = session;
    const { redacted, settings } = archive.manifest;
    const here = carriedSettings(options.settings, session);
    const placed = push === undefined ? placeSession(session, options) : await pushed(push, session);
    const taskCount = placed.file === undefined ? 0 : placeTasks(unpacked, placed.file);
    if (placed.file !== undefined) rememberContinued(placed.file, { ...place, cwd });
    const restored =
      bundle === undefined
        ? { restored: 0, reason: "the file has none of them" }
        : await unbundleCheckpoints(commits, { file: bundle, cwd });
    return {
      ...{ format: "bonsai", id, ...placed, parentSession: header.parentSession, taskCount },
      ...{ redacted, settings: comparedSettings(settings, here) },
      ...(commits.size > 0 && { checkpoints: { count: commits.size, ...restored } }),
    };
  } finally {
    session?.close();
    archive.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Leaves out equal values, and names that are no settings here. */
function comparedSettings(exported: CarriedSettings, here: CarriedSettings): ArchiveImport["settings"] {
  return Object.entries(exported).flatMap(([name, value]) => {
    const own = Object.hasOwn(here, name) ? here[name] : undefined;
    if (name === "model" || name === "thinking") return [{ name, value }];
    return own === undefined || own === value ? [] : [{ name, value, here: own }];
  });
}

type Placed = Pick<ArchiveImport, "file" | "outcome" | "bytes">;

/** Moves an unpacked session to its place, or adds its entries to the session that is there. */
function placeSession(session: Session, { place, file, cwd }: ImportArchiveOptions): Placed {
  const { header, id, sizeBytes } = session;
  // An id comes from a file that anybody can write.
  const name = /^[\w-]{1,100}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 32);
  const known = file === undefined ? fileOf(name, place, id) : undefined;
  if (known !== undefined) return addedTo(known, session);
  const now = new Date(header.timestamp);
  const path = file ?? newSessionFile({ ...place, cwd: header.cwd || cwd, id: name, now });
  moveNew(session.file!, path);
  return { file: path, outcome: "imported", bytes: sizeBytes };
}

function addedTo(file: string, session: Session): Placed {
  const own = openSession(file);
  try {
    const isOld = [own, session].some(({ header }) => header.version !== SESSION_VERSION);
    if (isOld && own.sizeBytes !== session.sizeBytes) throw outputExists(file);
    const { bytes, isBranch } = addMissingEntries(own, session);
    return { file, outcome: bytes === 0 ? "present" : isBranch ? "branched" : "continued", bytes };
  } finally {
    own.close();
  }
}

/** The recorded session with an id. @param name the id, or the id in the name of the file */
function fileOf(name: string, place: SessionPlace, id: string): string | undefined {
  let session: Session | undefined;
  try {
    session = openSession(findSession({ session: name, ...place }));
    return session.id === id ? session.file : undefined;
  } catch (error) {
    // A damaged file is no session with this id.
    if (!BonsaiError.is(error)) throw error;
    return undefined;
  } finally {
    session?.close();
  }
}

/** @throws BonsaiError `output_exists` */
function moveNew(from: string, to: string): void {
  const file = new NewFile(to, outputExists);
  try {
    renameSync(from, file.temporaryPath);
    file.publish();
  } finally {
    file.discard();
  }
}

/** Moves the sessions of sub-agents beside their session. Existing ones stay. @returns how many are new */
function placeTasks(unpacked: ReadonlyMap<string, string>, file: string): number {
  const tasks = [...unpacked].flatMap(([name, from]) => {
    const to = TASK_FILE.exec(name) && join(tasksFolder(file), basename(name));
    return to === null || existsSync(to) ? [] : [{ from, to }];
  });
  for (const { from, to } of tasks) moveNew(from, to);
  return tasks.length;
}

async function pushed(push: NonNullable<ImportArchiveOptions["push"]>, { file }: Session): Promise<Placed> {
  const { bytes, isBranch } = await push(file!);
  return { outcome: bytes === 0 ? "present" : isBranch ? "branched" : "imported", bytes };
}

function openUnpacked(file: string, archive: string): Session {
  try {
    return openSession(file);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw archiveDamaged(archive, `its ${SESSION_FILE} is no session`, error);
  }
}
