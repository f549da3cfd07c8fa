import { BonsaiError, redactSecrets } from "@bonsai-agent/messages";
import type { AuthFile } from "./auth-file.ts";
import { checkedCredentials, credentialsOf } from "./credentials.ts";
import type { LoginCallbacks, LoginCredentials, Logout, ProviderLogin } from "./provider-login.ts";

interface LoginRun {
  provider: string;
  login: ProviderLogin | undefined;
  file: AuthFile;
  callbacks: LoginCallbacks;
}

/** Runs a login and stores what it gives. What comes after an abort is not stored. */
export async function runLogin({ provider, login, file, callbacks }: LoginRun): Promise<void> {
  if (login === undefined) throw noLogin(provider);
  const { signal } = callbacks;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // A login that does not heed the signal is left behind.
    const running = Promise.resolve().then(() => login.login(callbacks));
    const credentials = checkedCredentials(provider, await Promise.race([running, aborted]));
    signal.throwIfAborted();
    file.change(provider, () => ({ type: "oauth", ...credentials }));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

const REVOKE_TIMEOUT_MS = 10_000;

interface LogoutRun {
  provider: string;
  login: ProviderLogin | undefined;
  file: AuthFile;
  signal: AbortSignal | undefined;
}

/** What is stored goes first: a provider that does not answer keeps nobody logged in here. */
export async function runLogout({ provider, login, file, signal }: LogoutRun): Promise<Logout | undefined> {
  let stored: LoginCredentials | undefined;
  const isGone =
    file.entry(provider) !== undefined &&
    file.change(provider, (entry) => {
      stored = credentialsOf(entry);
      return undefined;
    });
  if (!isGone) return undefined;
  if (stored === undefined || login?.revoke === undefined) return { isRevoked: false };
  const timeout = AbortSignal.timeout(REVOKE_TIMEOUT_MS);
  const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const { access, refresh } = stored;
  try {
    await bounded(login.revoke(stored, ends), ends);
    return { isRevoked: true };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { isRevoked: false, problem: redactSecrets(said, { known: [access, refresh], isStrict: true }) };
  }
}

async function bounded(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  await Promise.race([work, promise]);
}

function noLogin(provider: string): BonsaiError {
  return new BonsaiError({
    code: "login_none",
    message: `Bonsai has no login for ${provider}.`,
    hint: "Load the extension that adds this login, or store an API key with /login.",
  });
}
