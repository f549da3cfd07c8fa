import { createWriteStream } from "node:fs";
import { basename } from "node:path";
import { type Readable, Transform } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { z } from "zod";
import {
  ARCHIVE_VERSION,
  type ArchiveManifest,
  CARRIED_FILE,
  MANIFEST_FILE,
  SESSION_FILE,
} from "./session-archive.ts";

const MAX_FILES = 10_000;
const MAX_MANIFEST_BYTES = 1 << 20;
/** Sessions shrink to a tenth. Only a file that is made to fill the disk shrinks so much and is so large. */
const MAX_UNUSUAL_BYTES = 2 ** 30;
const MAX_RATIO = 200;

const manifestSchema = z.object({
  format: z.literal("bonsai-session"),
  version: z.int().min(1),
  redacted: z.boolean(),
  settings: z.record(z.string().max(100), z.union([z.string().max(200), z.number(), z.boolean()])),
});

/** An archive that is open for reading. */
export interface OpenArchive {
  manifest: ArchiveManifest;
  /** The session's file, those of its sub-agents, and the bundle: as far as the archive has them. */
  names: string[];
  /** Writes a file of the archive to a new file. @throws BonsaiError `archive_damaged`, and what the file system throws */
  extract(name: string, to: string): Promise<void>;
  close(): void;
}

/** @throws BonsaiError `archive_damaged`, `archive_too_new` */
export async function openArchive(path: string): Promise<OpenArchive> {
  const reading = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(failure(path, error)));
  const zip = await reading(
    openPromise(path, { autoClose: false, strictFileNames: true, lazyEntries: true }).catch(notZip),
  );
  try {
    const entries = await reading(entriesOf(zip));
    return {
      manifest: await reading(manifestOf(zip, entries.get(MANIFEST_FILE), path)),
      names: [...entries.keys()].filter((name) => CARRIED_FILE.test(name)),
      extract: (name, to) => reading(extractEntry(zip, entries.get(name)!, to)),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

/** The library's words are for programmers. An error of the file system explains itself. */
function notZip(cause: NodeJS.ErrnoException): never {
  throw cause.syscall === undefined ? new Error("it is cut off, or no zip", { cause }) : cause;
}

async function extractEntry(zip: ZipFile, entry: Entry, to: string): Promise<void> {
  const content = await zip.openReadStreamPromise(entry);
  await pipeline(content, checksum(entry), createWriteStream(to, { flags: "wx", mode: 0o600 }));
}

async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_FILES) throw new Error(`it has ${zip.entryCount} files`);
  const entries = new Map<string, Entry>();
  let bytes = 0;
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize } = entry;
    if (entries.has(fileName)) throw new Error(`it has two files named ${fileName}`);
    entries.set(fileName, entry);
    bytes += uncompressedSize;
  }
  if (bytes > MAX_UNUSUAL_BYTES && bytes > MAX_RATIO * zip.fileSize)
    throw new Error(`it would fill the disk with ${bytes} bytes`);
  if (!entries.has(SESSION_FILE)) throw new Error(`it has no ${SESSION_FILE}`);
  return entries;
}

async function manifestOf(zip: ZipFile, entry: Entry | undefined, path: string): Promise<ArchiveManifest> {
  if (entry === undefined) throw new Error(`it has no ${MANIFEST_FILE}`);
  if (entry.uncompressedSize > MAX_MANIFEST_BYTES) throw new Error(`its ${MANIFEST_FILE} is too large`);
  const stream: Readable = (await zip.openReadStreamPromise(entry)).compose(checksum(entry));
  const value: unknown = JSON.parse(await text(stream));
  const { version } = z.object({ version: z.number().catch(0) }).parse(value);
  if (version > ARCHIVE_VERSION) throw tooNew(path, version);
  return manifestSchema.parse(value);
}

/** Fails at the end if the content is not what the archive says. */
function checksum(entry: Entry): Transform {
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(undefined, chunk);
    },
    flush: (done) =>
      done(sum === entry.crc32 ? undefined : new Error(`the content of ${entry.fileName} is damaged`)),
  });
}

export function archiveDamaged(path: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "archive_damaged",
    message: `${basename(path)} is not a whole .bonsai file: ${why}. Nothing was imported.`,
    hint: "Copy the file again, or export the session again with `bonsai session export SESSION FILE.bonsai`.",
    cause,
  });
}

function tooNew(path: string, version: number): BonsaiError {
  return new BonsaiError({
    code: "archive_too_new",
    message: `${basename(path)} has version ${version} of the format; this Bonsai reads version ${ARCHIVE_VERSION}.`,
    hint: "Update Bonsai, or unpack session.jsonl from the file with any zip program.",
  });
}

/** An error of the file system explains itself. */
function failure(path: string, error: unknown): unknown {
  const isOfSystem = (error as NodeJS.ErrnoException).syscall !== undefined;
  if (BonsaiError.is(error) || isOfSystem) return error;
  const why =
    error instanceof z.ZodError ? `its ${MANIFEST_FILE} is wrong` : messageOf(error).replace(/\.$/, "");
  return archiveDamaged(path, why, error);
}
