import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder whose modules a test writes. */
export function scratchModules() {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-extensions-"));
  return {
    folder,
    /** Writes a module; gives back its path. */
    write(name: string, lines: readonly string[]): string {
      const path = join(folder, name);
      writeFileSync(path, lines.join("\n"));
      return path;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
