import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "../io.ts";

/**
 * False where no extension can be found at a glance: help is to be there at once, and what finds them takes longer to
 * load than all the rest of it.
 */
export function mayBringFlags(argv: readonly string[], io: CliIo): boolean {
  if (argv.some((word) => /^(-e|--extension)/.test(word))) return true;
  return foldersOf(io).some(
    (folder) =>
      existsSync(join(folder, "extensions")) ||
      existsSync(join(folder, "packages")) ||
      namesExtensions(join(folder, "settings.json")),
  );
}

function foldersOf(io: CliIo): readonly string[] {
  const home = bonsaiHome({ ...io.env });
  try {
    return [home, join(io.cwd, ".bonsai")];
  } catch {
    // Help comes also in a folder that is gone.
    return [home];
  }
}

function namesExtensions(settings: string): boolean {
  try {
    return existsSync(settings) && readFileSync(settings, "utf8").includes('"extensions"');
  } catch {
    // Whoever reads it for its settings says why it cannot be read.
    return true;
  }
}
