import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { inFileQueue } from "@bonsai-agent/agent";

/** Runs when everybody who asked for the same file before is done, Bonsai's own tools included. */
export async function withFileMutationQueue<Result>(
  filePath: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const path = resolve(filePath);
  // A file that is still to be made has no real path yet.
  const real = await realpath(path).catch(() => path);
  return inFileQueue(real, work);
}
