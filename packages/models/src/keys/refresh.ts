import { BonsaiError, redactSecrets } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { locked } from "../file-lock.ts";
import { ProviderError } from "../provider.ts";
import type { AuthFile } from "./auth-file.ts";
import {
  apiKeyOf,
  checkedCredentials,
  credentialsOf,
  type LoginCredentials,
  type ProviderLogin,
} from "./provider-login.ts";

/** Time before the end of a login at which it is refreshed: a request takes a while, and clocks differ. */
const MARGIN_MS = 60_000;
/** The next attempt asks a provider again that has not answered by then. */
const TIMEOUT_MS = 30_000;
/** Longer than a refresh takes. The lock of a dead process is detected at once. */
const LOCK = { staleMs: 4 * TIMEOUT_MS, waitMs: 2 * TIMEOUT_MS };
/** Minimum time between two refreshes of a login that lives shorter than the margin. */
const MIN_REFRESH_INTERVAL_MS = 30_000;

interface FreshKeyParts {
  provider: string;
  login: ProviderLogin;
  file: AuthFile;
  /** Running refreshes by provider. Requests of one process share them. */
  running: Map<string, Promise<LoginCredentials>>;
  /** A key that was refused just now. */
  refused: string | undefined;
  signal: AbortSignal | undefined;
  onChanged: () => void;
}

/**
 * Returns the key of a login. Refreshes the login first if it ends soon or its key was refused. An abort ends the wait,
 * not the refresh: its credentials may be the only valid ones afterwards.
 */
export async function freshKey(parts: FreshKeyParts): Promise<string | undefined> {
  const { provider, login, file, running, refused, signal } = parts;
  const stored = credentialsOf(file.entry(provider));
  if (stored === undefined) return undefined;
  const key = apiKeyOf(login, stored);
  const isDue = refused === undefined ? endsSoon(stored, provider) : key === refused;
  if (!isDue) return key;
  const refresh = running.get(provider) ?? startRefresh(parts, stored);
  return apiKeyOf(login, await raceAbort(refresh, signal));
}

/** The latest refresh of this process, by provider. */
const refreshedAt = new Map<string, { access: string; atMs: number }>();

function endsSoon({ expires, access }: LoginCredentials, provider: string): boolean {
  if (expires === undefined || !Number.isFinite(expires) || Date.now() < expires - MARGIN_MS) return false;
  const last = refreshedAt.get(provider);
  return last?.access !== access || performance.now() - last.atMs > MIN_REFRESH_INTERVAL_MS;
}

function startRefresh(parts: FreshKeyParts, stale: LoginCredentials): Promise<LoginCredentials> {
  const { provider, running, onChanged } = parts;
  const refresh = refreshUnderLock(parts, stale).finally(() => running.delete(provider));
  running.set(provider, refresh);
  refresh.then(onChanged, () => {
    // The waiting requests get the error.
  });
  return refresh;
}

/** Returns the credentials of another process if it refreshed the login while this one waited for the lock. */
function refreshUnderLock(parts: FreshKeyParts, stale: LoginCredentials): Promise<LoginCredentials> {
  const { provider, file, login } = parts;
  const path = `${file.path}.${encodeURIComponent(provider)}.lock`;
  return locked({ path, ...LOCK }, async () => {
    const now = credentialsOf(file.entry(provider));
    if (now === undefined) throw ended(provider, "it was removed in the meantime");
    if (!isSame(now, stale)) return now;
    // Many providers revoke the old refresh token with their answer, so the new one must not get lost.
    file.proveWritable(provider);
    const fresh = await refreshed(provider, login, now).catch((error: unknown) => {
      if (BonsaiError.is(error) && error.code === "login_expired") replace(parts, now, undefined);
      throw error;
    });
    replace(parts, now, fresh);
    refreshedAt.set(provider, { access: fresh.access, atMs: performance.now() });
    return fresh;
  });
}

/** Keeps an entry that a login or a logout has written meanwhile. */
function replace(
  { provider, file }: FreshKeyParts,
  before: LoginCredentials,
  fresh: LoginCredentials | undefined,
): void {
  file.change(provider, (entry) => {
    if (!isSame(credentialsOf(entry), before)) return entry;
    return fresh && { ...entry, ...fresh, type: "oauth" };
  });
}

function isSame(a: LoginCredentials | undefined, b: LoginCredentials): boolean {
  return a?.access === b.access && a.refresh === b.refresh;
}

async function refreshed(
  provider: string,
  login: ProviderLogin,
  stale: LoginCredentials,
): Promise<LoginCredentials> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const refresh = Promise.resolve().then(() => login.refreshToken({ ...stale }, signal));
    const credentials = await raceAbort(refresh, signal);
    const { expires: _expires, ...others } = stale;
    return { ...others, ...checkedCredentials(provider, credentials) };
  } catch (error) {
    throw failure(provider, stale, error);
  }
}

/** The word of providers and extensions for a login that has ended. */
const ENDED = /\binvalid_grant\b/;

function failure(provider: string, { access, refresh }: LoginCredentials, error: unknown): Error {
  const message = redactSecrets(error instanceof Error ? error.message : String(error), {
    known: [access, refresh],
    isStrict: true,
  });
  const own = BonsaiError.is(error) ? error : undefined;
  if (own?.code === "login_expired" || ENDED.test(message)) return ended(provider, message);
  // Without the cause: it may contain tokens, and the session stores the failure.
  if (own !== undefined && own.code !== "login_unanswered")
    return new BonsaiError({ code: own.code, message, hint: own.hint });
  return new ProviderError({
    kind: "network",
    code: "login_refresh_failed",
    message: `Could not refresh the login to ${provider}: ${message}`,
  });
}

function ended(provider: string, reason: string): BonsaiError {
  return new BonsaiError({
    code: "login_expired",
    message: `The login to ${provider} is no longer valid: ${reason.replace(/[.\s]*$/, "")}.`,
    hint: `Log in again with /login ${provider}, or \`bonsai login ${provider}\` in a shell.`,
  });
}
