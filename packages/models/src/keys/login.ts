import { BonsaiError, redactSecrets } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import type { AuthFile } from "./auth-file.ts";
import {
  checkedCredentials,
  credentialsOf,
  type LoginCallbacks,
  type LoginCredentials,
  type Logout,
  type ProviderLogin,
} from "./provider-login.ts";

const REVOKE_TIMEOUT_MS = 10_000;

interface LoginParts {
  provider: string;
  login: ProviderLogin | undefined;
  file: AuthFile;
}

/** Runs a login and stores its credentials, unless it is aborted. Does not wait for a login that ignores the signal. */
export async function login(parts: LoginParts & { callbacks: LoginCallbacks }): Promise<void> {
  const { provider, login: way, file, callbacks } = parts;
  if (way === undefined) throw noLogin(provider);
  const { signal } = callbacks;
  signal.throwIfAborted();
  const running = Promise.resolve().then(() => way.login(callbacks));
  const credentials = checkedCredentials(provider, await raceAbort(running, signal));
  signal.throwIfAborted();
  file.change(provider, () => ({ type: "oauth", ...credentials }));
}

/** Removes the stored login first: a provider that does not answer must not keep the user logged in here. */
export async function logout(
  parts: LoginParts & { signal: AbortSignal | undefined },
): Promise<Logout | undefined> {
  const { provider, login: way, file, signal } = parts;
  let stored: LoginCredentials | undefined;
  const isRemoved =
    file.entry(provider) !== undefined &&
    file.change(provider, (entry) => {
      stored = credentialsOf(entry);
      return undefined;
    });
  if (!isRemoved) return undefined;
  if (stored === undefined || way?.revoke === undefined) return { isRevoked: false };
  const timeout = AbortSignal.timeout(REVOKE_TIMEOUT_MS);
  const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const { access, refresh } = stored;
  try {
    await raceAbort(way.revoke(stored, ends), ends);
    return { isRevoked: true };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      isRevoked: false,
      problem: redactSecrets(message, { known: [access, refresh], isStrict: true }),
    };
  }
}

function noLogin(provider: string): BonsaiError {
  return new BonsaiError({
    code: "login_none",
    message: `Bonsai has no login for ${provider}.`,
    hint: "Load the extension that adds this login, or store an API key with /login.",
  });
}

/** Options of a login with a key from the provider's site. */
export interface KeyLoginOptions {
  /** Shown to the user. */
  name: string;
  /** The page that creates keys. It is shown and opened in the browser. */
  url?: string | undefined;
  /** Default: "Paste the API key." */
  message?: string | undefined;
  /** Throws if the key is invalid. Default: accepts every key. */
  check?: ((key: string, signal: AbortSignal) => Promise<void> | void) | undefined;
}

/** A login with a pasted key. It never expires. */
export function keyLogin({
  name,
  url,
  message = "Paste the API key.",
  check,
}: KeyLoginOptions): ProviderLogin {
  return {
    name,
    async login({ onAuth, onPrompt, onProgress, signal }) {
      if (url !== undefined) onAuth({ url, instructions: "Create a key there and paste it here." });
      const key = (await onPrompt({ message, isSecret: true })).trim();
      if (check !== undefined) onProgress("Checking the key…");
      await check?.(key, signal);
      return { access: key, refresh: "" };
    },
    refreshToken: async (credentials) => credentials,
    getApiKey: ({ access }) => access,
  };
}
