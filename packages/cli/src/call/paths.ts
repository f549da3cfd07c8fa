import { homedir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";

/** A path as people read it: from the working folder where it lies in it, else from their home. */
export function shownPath(path: string, cwd: string): string {
  const fromCwd = relative(cwd, path);
  if (fromCwd !== "" && !fromCwd.startsWith("..")) return fromCwd;
  const home = homedir();
  return home !== "" && path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

/** From `folder`, or for `~/` from the user's home: where no shell read a path, the `~` is still in it. */
export function absolutePath(path: string, folder: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(folder, path);
}

/**
 * What the command is called by whoever reads: `bonsai`, or the value of `BONSAI_CALLED_AS` where it is on no path, as under
 * `npm start`.
 */
export function calledAs({ env }: Pick<CliIo, "env">): string {
  return env.BONSAI_CALLED_AS || "bonsai";
}

/** How to go on in a session: by its id where it is found by it, else by its file. */
export function resumeCommand(
  { id, file }: { id: string; file: string },
  { env, cwd }: Pick<CliIo, "env" | "cwd">,
): string {
  const bonsai = calledAs({ env });
  if (file.startsWith(bonsaiHome(env) + sep)) return `${bonsai} -r ${id}`;
  const path = shownPath(file, cwd);
  // A shell does not look at ~ between quotes.
  return `${bonsai} -r ${/^[\w~./+:@-]+$/.test(path) ? path : `'${file.replaceAll("'", "'\\''")}'`}`;
}
