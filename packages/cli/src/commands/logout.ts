import type { Invocation } from "@bonsai-agent/app/invocation";
import type { Line } from "@bonsai-agent/app/line";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import type { KeyFile } from "@bonsai-agent/models";
import { withCommandModels } from "./command-models.ts";

/** What `bonsai logout --json` prints. */
export interface LogoutReport {
  provider: string;
  /** False where nothing was stored. */
  removed: boolean;
  /** True where the provider took back what it gave. */
  revoked: boolean;
  /** Why it did not, where it was asked to. */
  problem: string | null;
}

/** Takes a login or a stored key away; where nothing is stored, that is no failure. */
export function run(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const [provider = ""] = args;
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
  const what = revoked ? "taken away, and taken back by the provider" : "taken away";
  yield [removed ? `What was stored for ${provider} is ${what}.` : `Nothing is stored for ${provider}.`];
  if (problem !== null) yield [`The provider did not take it back: ${oneLine(problem, 200)}`];
  if (variable !== undefined) yield [`${variable} is set, and still gives a key.`];
}
