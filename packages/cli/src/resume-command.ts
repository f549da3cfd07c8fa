import { sep } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";
import { shownPath } from "./shown-path.ts";

/**
 * What the command is called by whoever reads: `bonsai`, or what `BONSAI_CALLED_AS` says where it is on no path, as under
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
  if (file.startsWith(bonsaiHome({ ...env }) + sep)) return `${bonsai} -r ${id}`;
  const path = shownPath(file, cwd);
  // A shell does not look at ~ between quotes.
  return `${bonsai} --session ${/^[\w~./+:@-]+$/.test(path) ? path : `'${file.replaceAll("'", "'\\''")}'`}`;
}
