import { sep } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";
import { shownPath } from "./shown-path.ts";

/** How to go on in a session: by its id where it is found by it, else by its file. */
export function resumeCommand(
  { id, file }: { id: string; file: string },
  { env, cwd }: Pick<CliIo, "env" | "cwd">,
): string {
  if (file.startsWith(bonsaiHome({ ...env }) + sep)) return `bonsai -r ${id}`;
  const path = shownPath(file, cwd);
  // A shell does not look at ~ between quotes.
  return `bonsai --session ${/^[\w~./+:@-]+$/.test(path) ? path : `'${file.replaceAll("'", "'\\''")}'`}`;
}
