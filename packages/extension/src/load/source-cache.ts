import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isTypeScript, type RunnableSource } from "./runnable-source.ts";

/** The result of an earlier start for one file. */
export interface KeptFile {
  /** Hash of the source. */
  key: string;
  /** Undefined for a file that Node cannot run. The cache keeps JavaScript without its text. */
  runnable?: RunnableSource;
  refusal?: string;
}

/** Increase the number whenever the same source gives another result. */
const CACHE_VERSION = `2 ${process.version}`;

/** The first line of a cache file. All texts follow it, in the order of the files. */
interface CacheHeader {
  version: string;
  files: [path: string, file: StoredFile][];
}

interface StoredFile extends Omit<KeptFile, "runnable"> {
  facts?: Omit<RunnableSource, "text">;
  textBytes: number;
}

/** Reads a cache file. Decodes texts on demand. Returns nothing for a missing or damaged file. */
export function readCache(file: string): [string, KeptFile][] {
  try {
    const data = readFileSync(file);
    let start = data.indexOf("\n") + 1;
    const { version, files } = JSON.parse(data.toString("utf8", 0, start)) as CacheHeader;
    if (version !== CACHE_VERSION) return [];
    const kept = files.map(([path, { facts, textBytes, ...file }]): [string, KeptFile] => {
      const bytes = data.subarray(start, start + textBytes);
      start += textBytes;
      return [path, { ...file, ...(facts && { runnable: withText(facts, bytes) }) }];
    });
    return start === data.length ? kept : [];
  } catch {
    return [];
  }
}

function withText(facts: Omit<RunnableSource, "text">, bytes: Buffer): RunnableSource {
  return {
    ...facts,
    get text() {
      return bytes.toString();
    },
  };
}

/** Writes a cache file. A read-only disk only costs time. */
export function writeCache(file: string, kept: Iterable<[string, KeptFile]>): void {
  const texts: Buffer[] = [];
  const files = [...kept].map(([path, { runnable, ...file }]): CacheHeader["files"][number] => {
    const { text = "", ...facts } = runnable ?? {};
    const bytes = Buffer.from(isTypeScript(path) ? text : "");
    texts.push(bytes);
    return [path, { ...file, ...(runnable && { facts: facts as RunnableSource }), textBytes: bytes.length }];
  });
  const header = JSON.stringify({ version: CACHE_VERSION, files } satisfies CacheHeader);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, Buffer.concat([Buffer.from(`${header}\n`), ...texts]), { mode: 0o600 });
    renameSync(unfinished, file);
  } catch {
    // The next start converts the files again.
  }
}
