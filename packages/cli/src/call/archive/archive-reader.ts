import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import {
  ARCHIVE_VERSION,
  type ArchiveManifest,
  CARRIED_FILE,
  MANIFEST_FILE,
  manifestSchema,
  SESSION_FILE,
} from "./archive-format.ts";

const MAX_FILES = 10_000;
const MAX_MANIFEST_BYTES = 1 << 20;
/** Sessions shrink to a tenth. An archive above both bounds is made to fill the disk. */
const MAX_UNUSUAL_BYTES = 2 ** 30;
const MAX_RATIO = 200;

/**
 * Unpacks the files of a session into an empty folder, under their names in the archive. Other files stay packed.
 * @throws BonsaiError `archive_damaged`, `archive_too_new`, and errors of the file system
 */
export async function unpackArchive(path: string, folder: string): Promise<ArchiveManifest> {
  let zip: ZipFile | undefined;
  try {
    zip = await openPromise(path, { autoClose: false, strictFileNames: true, lazyEntries: true }).catch(
      notZip,
    );
    const { [MANIFEST_FILE]: manifestEntry, ...entries } = await carriedEntries(zip);
    const manifest = readManifest(await unpack(zip, manifestEntry!, folder), path);
    for (const entry of Object.values(entries)) await unpack(zip, entry, folder);
    return manifest;
  } catch (error) {
    if (BonsaiError.is(error) || isOfSystem(error)) throw error;
    throw archiveDamaged(path, messageOf(error).replace(/\.$/, ""), error);
  } finally {
    zip?.close();
  }
}

/** Checks the whole list of files before one is unpacked. */
async function carriedEntries(zip: ZipFile): Promise<Record<string, Entry>> {
  if (zip.entryCount > MAX_FILES) throw new Error(`it has ${zip.entryCount} files`);
  const entries: Record<string, Entry> = {};
  let bytes = 0;
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize } = entry;
    if (!CARRIED_FILE.test(fileName)) continue;
    if (entries[fileName] !== undefined) throw new Error(`it has two files named ${fileName}`);
    if (!entry.canDecodeFileData())
      throw new Error(`its ${fileName} is encrypted, or compressed by another method than deflate`);
    entries[fileName] = entry;
    bytes += uncompressedSize;
  }
  if (bytes > MAX_UNUSUAL_BYTES && bytes > MAX_RATIO * zip.fileSize)
    throw new Error(`it would fill the disk with ${bytes} bytes`);
  for (const name of [MANIFEST_FILE, SESSION_FILE])
    if (entries[name] === undefined) throw new Error(`it has no ${name}`);
  if (entries[MANIFEST_FILE]!.uncompressedSize > MAX_MANIFEST_BYTES)
    throw new Error(`its ${MANIFEST_FILE} is too large`);
  return entries;
}

/** @returns the path of the new file */
async function unpack(zip: ZipFile, entry: Entry, folder: string): Promise<string> {
  const to = join(folder, entry.fileName);
  mkdirSync(dirname(to), { recursive: true });
  async function* checked(content: AsyncIterable<Buffer>) {
    let sum = 0;
    for await (const chunk of content) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (sum !== entry.crc32) throw new Error(`the content of ${entry.fileName} is damaged`);
  }
  const content = await zip.openReadStreamPromise(entry);
  await pipeline(content, checked, createWriteStream(to, { flags: "wx", mode: 0o600 }));
  return to;
}

function readManifest(file: string, path: string): ArchiveManifest {
  try {
    const value = JSON.parse(readFileSync(file, "utf8")) as { version?: unknown } | null;
    // Later versions can have other fields.
    if (Number(value?.version) > ARCHIVE_VERSION) throw tooNew(path, value?.version);
    return manifestSchema.parse(value);
  } catch (cause) {
    throw BonsaiError.is(cause) ? cause : new Error(`its ${MANIFEST_FILE} is wrong`, { cause });
  }
}

/** The library's words are for programmers. */
function notZip(cause: unknown): never {
  throw isOfSystem(cause) ? cause : new Error("it is cut off, or no zip", { cause });
}

/** An error of the file system explains itself. */
function isOfSystem(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}

export function archiveDamaged(path: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "archive_damaged",
    message: `Cannot import ${basename(path)}: ${why}. Nothing was imported.`,
    hint: "Copy the file again, or export the session again with `bonsai session export SESSION FILE.bonsai`.",
    cause,
  });
}

function tooNew(path: string, version: unknown): BonsaiError {
  return new BonsaiError({
    code: "archive_too_new",
    message: `${basename(path)} has version ${version} of the format; this Bonsai reads version ${ARCHIVE_VERSION}.`,
    hint: "Update Bonsai, or unpack session.jsonl from the file with any zip program.",
  });
}
