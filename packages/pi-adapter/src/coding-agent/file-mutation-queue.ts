import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { inFileQueue } from "@bonsai-agent/agent";

/** Runs when everybody who asked for the same file before is done, Bonsai's own tools included. */
export async function withFileMutationQueue<Result>(
  filePath: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return inFileQueue(realPathOf(resolve(filePath)), work);
}

/** Asked at once: two answers of the system that are waited for can come in the other order. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A file that is still to be made has no real path yet.
    return path;
  }
}
