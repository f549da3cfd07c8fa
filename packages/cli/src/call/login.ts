import { openBrowser } from "@bonsai-agent/extension/login";
import type { CliIo } from "./io.ts";
import type { ModelRegistry } from "./model-choice.ts";

/** The JSON of `bonsai login --forget`. */
type LogoutReport = Awaited<ReturnType<typeof forgetLogin>>;

/** Deletes the stored key or login of a provider, and revokes the login. It is no failure if nothing is stored. */
export async function forgetLogin(provider: string, { keys }: ModelRegistry, signal: AbortSignal) {
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

export function logoutSentences(report: LogoutReport, { keys, catalogue }: ModelRegistry): string[] {
  const { provider, removed, revoked, problem } = report;
  const config = catalogue.providers.find((each) => each.provider === provider);
  const isInEnvironment = config !== undefined && keys.source(config) === "environment";
  const revocation = revoked ? " The provider revoked it." : "";
  return [
    removed
      ? `Deleted the stored key or login of ${provider}.${revocation}`
      : `Nothing is stored for ${provider}.`,
    ...(problem === null ? [] : [`The provider did not revoke it: ${problem}`]),
    ...(isInEnvironment ? [`${config.apiKeyEnv} still provides a key. Unset it to log out fully.`] : []),
  ];
}

/** Opens the address of a login in the browser. @returns the outcome, for people */
export async function openLoginPage(url: string, env: CliIo["env"]): Promise<string> {
  return (await openBrowser(url, { env }))
    ? "Opened in your browser."
    : "Could not open a browser. Open the address yourself.";
}

/** Asks for the result of a browser that cannot reach this machine. */
export const PASTE_QUESTION =
  "If the browser is on another machine, paste its final address or the code here.";
