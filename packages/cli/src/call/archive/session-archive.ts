import { createWriteStream, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AgentSettings } from "@bonsai-agent/agent";
import { JsonlStore, type Session, type SessionStore } from "@bonsai-agent/session";
import { NewFile } from "@bonsai-agent/session/host";
import { ZipFile } from "yazl";
import { bytes, count, counted } from "../../views/numbers.ts";
import { outputExists, taskFiles, tasksFolder } from "../session-file.ts";
import {
  ARCHIVE_VERSION,
  type ArchiveManifest,
  BUNDLE_FILE,
  carriedSettings,
  MANIFEST_FILE,
  SESSION_FILE,
} from "./archive-format.ts";
import { type Bundled, bundleCheckpoints, checkpointCommits } from "./git-checkpoints.ts";
import { LineRedaction, storedBytes } from "./redacted-lines.ts";

export interface ArchiveOptions {
  session: Session;
  /** The new file. */
  file: string;
  settings: AgentSettings;
  /** Stored keys, which are redacted too; undefined to redact nothing. */
  secrets: readonly string[] | undefined;
  /** The folder of the call, whose repository can have checkpoints. */
  cwd: string;
}

export interface ArchiveReport {
  format: "bonsai";
  file: string;
  sizeBytes: number;
  redacted: number;
  taskCount: number;
  /** Undefined for a session without checkpoints. */
  checkpoints?: Bundled;
}

/** Writes a session to a new archive, whole or not at all. @throws BonsaiError `output_exists` */
export async function writeArchive(options: ArchiveOptions): Promise<ArchiveReport> {
  const { session, file, secrets, settings, cwd } = options;
  const archive = new NewFile(file, outputExists);
  const work = mkdtempSync(join(tmpdir(), "bonsai-export-"));
  const stores: SessionStore[] = [];
  try {
    const tasks = taskFiles(session.file);
    for (const task of tasks) stores.push(JsonlStore.open(task));
    const contents = [session.store, ...stores].map((store, at) => {
      const name = at === 0 ? SESSION_FILE : `${tasksFolder(SESSION_FILE)}/${basename(tasks[at - 1]!)}`;
      return { name, store, size: store.size() };
    });
    const index = session.index();
    const redaction = secrets && new LineRedaction(secrets, (text) => index.find(text) >= 0);
    for (const { store, size } of contents) redaction?.learnFrom(store, size);
    const hasSecret = (text: string) => redaction !== undefined && redaction.text(text) !== text;
    const bundle = join(work, BUNDLE_FILE);
    const commits = checkpointCommits(session);
    const folders = [cwd, session.cwd];
    const checkpoints = await bundleCheckpoints(commits, { file: bundle, folders, hasSecret });
    // Now each secret counts once.
    if (redaction !== undefined) redaction.count = 0;

    const zip = new ZipFile();
    const output = zip.outputStream as Readable;
    zip.on("error", (error) => output.destroy(error as Error));
    const manifest: ArchiveManifest = {
      ...{ format: "bonsai-session", version: ARCHIVE_VERSION, redacted: redaction !== undefined },
      settings: carriedSettings(settings, session),
    };
    zip.addBuffer(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), MANIFEST_FILE);
    for (const { name, store, size } of contents) {
      const bytes = redaction?.lines(store, size) ?? storedBytes(store, size);
      zip.addReadStream(Readable.from(bytes, { objectMode: false }), name);
    }
    if (existsSync(bundle)) zip.addFile(bundle, BUNDLE_FILE, { compress: false });
    zip.end();
    await pipeline(output, createWriteStream(archive.temporaryPath, { flags: "wx", mode: 0o600 }));
    archive.publish();
    return {
      ...{ format: "bonsai", file, sizeBytes: statSync(file).size, redacted: redaction?.count ?? 0 },
      ...{ taskCount: tasks.length, ...(commits.size > 0 && { checkpoints }) },
    };
  } finally {
    for (const store of stores) store.close();
    archive.discard();
    rmSync(work, { recursive: true });
  }
}

/** The size of an archive, and what it contains or lacks: the end of a sentence. */
export function archiveWords({ sizeBytes, redacted, taskCount, checkpoints }: ArchiveReport): string {
  const { count: all = 0, carried = 0, withSecrets = 0, reason } = checkpoints ?? {};
  return [
    `, ${bytes(sizeBytes)}`,
    ...(redacted > 0 ? [`, ${counted(redacted, "secret")} removed`] : []),
    ...(taskCount > 0 ? [`, with ${counted(taskCount, "sub-agent")}`] : []),
    ...(all > 0 ? [`, with ${count(carried)} of ${counted(all, "git checkpoint")}`] : []),
    ...(withSecrets > 0 ? [` (${count(withSecrets)} left out: a changed file has a secret)`] : []),
    ...(reason !== undefined ? [` (${reason})`] : []),
  ].join("");
}
