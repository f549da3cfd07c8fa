import { createWriteStream, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AgentSettings } from "@bonsai-agent/agent";
import { compactionSettingsSchema, settingsForModel } from "@bonsai-agent/compaction";
import { isRecord } from "@bonsai-agent/messages";
import { JsonlStore, type Session, type SessionStore } from "@bonsai-agent/session";
import { NewFile } from "@bonsai-agent/session/host";
import { ZipFile } from "yazl";
import { bytes, count, counted } from "../../views/numbers.ts";
import { outputExists, taskFiles, tasksFolder } from "../session-file.ts";
import { type Bundled, bundleCheckpoints, checkpointCommits } from "./git-checkpoints.ts";
import { LineRedaction, storedBytes } from "./redacted-lines.ts";

// A session in one file: a zip with the session's file, its sub-agents' files, git checkpoints and a manifest.

export const ARCHIVE_VERSION = 1;
/** The names of files in the zip. */
export const SESSION_FILE = "session.jsonl";
export const MANIFEST_FILE = "manifest.json";
export const BUNDLE_FILE = "checkpoints.bundle";
/** Other files of a zip are never unpacked. The folder has the sessions of sub-agents. */
export const CARRIED_FILE =
  /^(?:session\.jsonl|manifest\.json|checkpoints\.bundle|session\.tasks\/[\w.-]+\.jsonl)$/;

export type Setting = string | number | boolean;
/** Values by the name of their setting. */
export type CarriedSettings = Record<string, Setting>;

export interface ArchiveManifest {
  format: "bonsai-session";
  version: number;
  /** True if secrets were replaced. */
  redacted: boolean;
  /** The settings at the export that decide how the session is continued. */
  settings: CarriedSettings;
}

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
  checkpoints?: Bundled & { count: number };
}

/** Writes a session to a new archive, whole or not at all. @throws BonsaiError `output_exists` */
export async function writeArchive(options: ArchiveOptions): Promise<ArchiveReport> {
  const { session, file, secrets } = options;
  const work = mkdtempSync(join(tmpdir(), "bonsai-export-"));
  const archive = new NewFile(file, outputExists);
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
    const bundle = join(work, BUNDLE_FILE);
    const checkpoints = await bundled(options, bundle, redaction);

    const zip = new ZipFile();
    const output = zip.outputStream as Readable;
    zip.on("error", (error) => output.destroy(error as Error));
    zip.addBuffer(Buffer.from(`${JSON.stringify(manifestOf(options), null, 2)}\n`), MANIFEST_FILE);
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
      ...{ taskCount: tasks.length, ...(checkpoints && { checkpoints }) },
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

async function bundled(
  { session, cwd }: ArchiveOptions,
  file: string,
  redaction: LineRedaction | undefined,
): Promise<ArchiveReport["checkpoints"]> {
  const commits = checkpointCommits(session);
  if (commits.size === 0) return undefined;
  const hasSecret = (text: string) => redaction?.hasSecret(text) ?? false;
  const bundle = await bundleCheckpoints(commits, { file, folders: [cwd, session.cwd], hasSecret });
  return { count: commits.size, ...bundle };
}

function manifestOf({ session, settings, secrets }: ArchiveOptions): ArchiveManifest {
  return {
    ...{ format: "bonsai-session", version: ARCHIVE_VERSION },
    redacted: secrets !== undefined,
    settings: carriedSettings(settings, session),
  };
}

/** The settings in force for a session: its model, its thinking level, and all of `compaction` but the names of models. */
export function carriedSettings(settings: AgentSettings, session: Session): CarriedSettings {
  const { model, thinkingLevel = settings.thinking } = session.settings();
  const { provider = "", modelId: id = "" } = model ?? {};
  const own: Record<string, unknown> = settingsForModel(settings.compaction, { provider, id });
  // The names of models can name hosts, and a preset's policy is no setting.
  const names = Object.keys(compactionSettingsSchema.parse({})).filter((name) => name !== "models");
  return {
    // A scripted model is a file.
    ...(id !== "" && !isAbsolute(id) && { model: `${provider}/${id}` }),
    thinking: thinkingLevel,
    ...Object.assign({}, ...names.map((name) => flat(`compaction.${name}`, own[name]))),
  };
}

function flat(name: string, value: unknown): CarriedSettings {
  if (isRecord(value))
    return Object.assign({}, ...Object.entries(value).map(([key, each]) => flat(`${name}.${key}`, each)));
  return ["string", "number", "boolean"].includes(typeof value) ? { [name]: value as string } : {};
}
