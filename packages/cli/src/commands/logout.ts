import type { KeyFile } from "@bonsai-agent/models";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import type { Line } from "../views/line.ts";
import { oneLine } from "../views/terminal-text.ts";
import { withCommandModels } from "./command-models.ts";

/** The JSON of `bonsai login --forget`. */
export interface LogoutReport {
  provider: string;
  /** False if nothing was stored. */
  removed: boolean;
  /** True if the provider revoked the login. */
  revoked: boolean;
  /** Why the provider did not revoke the login. */
  problem: string | null;
}

/** Deletes a stored key or login. It is no failure if nothing is stored. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const [provider] = args;
  if (provider === undefined)
    throw wrongUsage("--forget needs a provider.", "Run `bonsai login` to list the stored keys and logins.");
  return io.interruptible((signal) =>
    withCommandModels(invocation, signal, async ({ keys, catalogue }) => {
      const report = await logOut(provider, keys, signal);
      const config = catalogue.providers.find((each) => each.provider === provider);
      const variable = config && keys.source(config) === "environment" ? config.apiKeyEnv : undefined;
      output.result(report, () => lines(report, variable));
    }),
  );
}

async function logOut(provider: string, keys: KeyFile, signal: AbortSignal): Promise<LogoutReport> {
  if (keys.logins.stored(provider) === undefined) {
    const removed = keys.stored().includes(provider) && keys.remove(provider);
    return { provider, removed, revoked: false, problem: null };
  }
  const done = await keys.logins.logout(provider, signal);
  return {
    provider,
    removed: done !== undefined,
    revoked: done?.isRevoked === true,
    problem: done?.problem ?? null,
  };
}

function* lines(
  { provider, removed, revoked, problem }: LogoutReport,
  variable: string | undefined,
): Iterable<Line> {
  const revocation = revoked ? " The provider revoked it." : "";
  yield [
    removed
      ? `Deleted the stored key or login of ${provider}.${revocation}`
      : `Nothing is stored for ${provider}.`,
  ];
  if (problem !== null) yield [`The provider did not revoke it: ${oneLine(problem, 200)}`];
  if (variable !== undefined) yield [`${variable} still provides a key. Unset it to log out fully.`];
}
