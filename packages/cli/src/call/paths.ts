import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";

/** A path for people: relative in the working folder, else with `~`. */
export function shownPath(path: string, cwd: string): string {
  const fromCwd = relative(cwd, path);
  if (fromCwd !== "" && !fromCwd.startsWith("..")) return fromCwd;
  const home = homedir();
  return home !== "" && path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

/** Resolves from `folder`. Expands `~/`, which no shell has done. */
export function absolutePath(path: string, folder: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(folder, path);
}

/** The path without links; the path itself if it does not exist yet. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The command's name for the user. `npm start` sets BONSAI_CALLED_AS. */
export function calledAs({ env }: Pick<CliIo, "env">): string {
  return env.BONSAI_CALLED_AS || "bonsai";
}

/** The command that continues a session, by its id or its file. */
export function resumeCommand(
  { id, file }: { id: string; file: string },
  { env, cwd }: Pick<CliIo, "env" | "cwd">,
): string {
  const bonsai = calledAs({ env });
  if (file.startsWith(bonsaiHome(env) + sep)) return `${bonsai} -r ${id}`;
  const path = shownPath(file, cwd);
  // A shell does not expand ~ between quotes.
  return `${bonsai} -r ${/^[\w~./+:@-]+$/.test(path) ? path : `'${file.replaceAll("'", "'\\''")}'`}`;
}
