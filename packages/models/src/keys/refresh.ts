import { BonsaiError, redactSecrets } from "@bonsai-agent/messages";
import { locked } from "../file-lock.ts";
import { ProviderError } from "../provider.ts";
import type { AuthFile } from "./auth-file.ts";
import { apiKeyOf, checkedCredentials, credentialsOf } from "./credentials.ts";
import type { LoginCredentials, ProviderLogin } from "./provider-login.ts";

/** So long before its end a login is refreshed: a request takes its time, and clocks differ. */
const MARGIN_MS = 60_000;
/** A provider that has not answered by then is tried again with the next attempt. */
const TIMEOUT_MS = 30_000;
/** Longer than an owner needs; an owner that died is seen at once. */
const LOCK = { staleMs: 4 * TIMEOUT_MS, waitMs: 2 * TIMEOUT_MS };
/** A login that ends sooner than the margin is not refreshed for each request. */
const AGAIN_MS = 30_000;

interface FreshKeyParts {
  provider: string;
  login: ProviderLogin;
  file: AuthFile;
  /** The refreshes under way: requests of one process share them. */
  running: Map<string, Promise<LoginCredentials>>;
  /** A key that was refused just now. */
  refused: string | undefined;
  signal: AbortSignal | undefined;
  onChanged: () => void;
}

/**
 * The key of a login, refreshed where it ends soon or was refused. An abort ends the wait, not the refresh: what the
 * provider gives may be the only thing that is good from then on.
 */
export async function freshKey(parts: FreshKeyParts): Promise<string | undefined> {
  const { provider, login, file, running, refused, signal } = parts;
  const stored = credentialsOf(file.entry(provider));
  if (stored === undefined) return undefined;
  const key = apiKeyOf(login, stored);
  const isDue = refused === undefined ? endsSoon(stored, provider) : key === refused;
  if (!isDue) return key;
  const refresh = running.get(provider) ?? begun(parts, stored);
  return apiKeyOf(login, await waited(refresh, signal));
}

/** When this process refreshed a login last, and what came of it. */
const refreshedAt = new Map<string, { access: string; atMs: number }>();

function endsSoon({ expires, access }: LoginCredentials, provider: string): boolean {
  if (expires === undefined || !Number.isFinite(expires) || Date.now() < expires - MARGIN_MS) return false;
  const last = refreshedAt.get(provider);
  return last?.access !== access || performance.now() - last.atMs > AGAIN_MS;
}

function begun(parts: FreshKeyParts, stale: LoginCredentials): Promise<LoginCredentials> {
  const { provider, running, onChanged } = parts;
  const refresh = refreshed(parts, stale).finally(() => running.delete(provider));
  running.set(provider, refresh);
  refresh.then(onChanged, () => {
    // Whoever waits is told.
  });
  return refresh;
}

async function waited<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** One process at a time: whoever waited for the lock takes what the other has stored. */
function refreshed(parts: FreshKeyParts, stale: LoginCredentials): Promise<LoginCredentials> {
  const { provider, file, login } = parts;
  const path = lockPath(file, provider);
  return locked({ path, ...LOCK }, async () => {
    const now = credentialsOf(file.entry(provider));
    if (now === undefined) throw ended(provider, "it was removed in the meantime");
    if (!isSame(now, stale)) return now;
    const kept = unstored.get(path);
    if (kept !== undefined && isSame(kept.before, now)) return stored(parts, now, kept.fresh);
    // Many providers take the old refresh token back with their answer: what cannot be stored is not asked for.
    file.proveWritable(provider);
    const fresh = await asked(provider, login, now).catch((error: unknown) => {
      if (BonsaiError.is(error) && error.code === "login_expired") forget(file, provider, now);
      throw error;
    });
    return stored(parts, now, fresh);
  });
}

/** By the lock's path: what came of a refresh and could not be stored, since the disk was full for one. */
const unstored = new Map<string, { before: LoginCredentials; fresh: LoginCredentials }>();

/** Where it cannot be stored it is kept, so that the next request stores it and does not ask once more. */
function stored(
  { provider, file }: FreshKeyParts,
  before: LoginCredentials,
  fresh: LoginCredentials,
): LoginCredentials {
  const path = lockPath(file, provider);
  unstored.set(path, { before, fresh });
  store(file, provider, before, fresh);
  unstored.delete(path);
  refreshedAt.set(provider, { access: fresh.access, atMs: performance.now() });
  return fresh;
}

function lockPath(file: AuthFile, provider: string): string {
  return `${file.path}.${encodeURIComponent(provider)}.lock`;
}

/** What somebody stored meanwhile, by a login or a logout, stands. */
function store(file: AuthFile, provider: string, before: LoginCredentials, fresh: LoginCredentials): void {
  file.change(provider, (entry) =>
    isSame(credentialsOf(entry), before) ? { ...entry, ...fresh, type: "oauth" } : entry,
  );
}

function forget(file: AuthFile, provider: string, before: LoginCredentials): void {
  file.change(provider, (entry) => (isSame(credentialsOf(entry), before) ? undefined : entry));
}

function isSame(a: LoginCredentials | undefined, b: LoginCredentials): boolean {
  return a?.access === b.access && a.refresh === b.refresh;
}

async function asked(
  provider: string,
  login: ProviderLogin,
  stale: LoginCredentials,
): Promise<LoginCredentials> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const given = await waited(
      Promise.resolve().then(() => login.refreshToken({ ...stale }, signal)),
      signal,
    );
    const { expires: _expires, ...kept } = stale;
    return { ...kept, ...checkedCredentials(provider, given) };
  } catch (error) {
    throw failure(provider, stale, error);
  }
}

/** In the words of a provider or of an extension: what ends a login. */
const ENDED = /\binvalid_grant\b/;

function failure(provider: string, { access, refresh }: LoginCredentials, error: unknown): Error {
  const said = redactSecrets(error instanceof Error ? error.message : String(error), {
    known: [access, refresh],
    isStrict: true,
  });
  const own = BonsaiError.is(error) ? error : undefined;
  if (own?.code === "login_expired" || ENDED.test(said)) return ended(provider, said);
  // Without its cause: a provider may repeat tokens anywhere, and a failure is stored in the session.
  if (own !== undefined && own.code !== "login_unanswered")
    return new BonsaiError({ code: own.code, message: said, hint: own.hint });
  return new ProviderError({
    kind: "network",
    code: "login_refresh_failed",
    message: `Could not refresh the login to ${provider}: ${said}`,
  });
}

function ended(provider: string, why: string): BonsaiError {
  return new BonsaiError({
    code: "login_expired",
    message: `The login to ${provider} is no longer valid: ${why.replace(/[.\s]*$/, "")}.`,
    hint: `Log in again with /login ${provider}, or \`bonsai login ${provider}\` in a shell.`,
  });
}
