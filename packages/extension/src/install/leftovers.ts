import { readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** No installation takes as long: what is older was left by one that was killed. */
const leftoverAgeMs = 86_400_000;

/** Takes away what killed installations left in a folder; what is young can be another one's that is at work. */
export function removeLeftovers(folder: string, isSuspect: (name: string) => boolean, nowMs: number): void {
  for (const name of namesIn(folder).filter(isSuspect)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: nowMs };
    if (nowMs - mtimeMs > leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
