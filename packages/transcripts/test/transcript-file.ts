import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the transcripts of these tests; the run of the tests removes it. */
export const folder = mkdtempSync(join(tmpdir(), "bonsai-transcripts-"));
let files = 0;

/** Writes a transcript. @returns its path */
export function transcriptFile(content: string | Buffer, extension = "jsonl"): string {
  files += 1;
  const path = join(folder, `${files}.${extension}`);
  writeFileSync(path, content);
  return path;
}
