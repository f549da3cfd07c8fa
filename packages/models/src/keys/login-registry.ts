import { BonsaiError, redactSecrets } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { locked } from "../file-lock.ts";
import { ProviderError } from "../provider.ts";
import type { AuthEntry, AuthFile } from "./auth-file.ts";

import {
  apiKeyOf,
  checkedCredentials,
  credentialsOf,
  type FreshKeyOptions,
  type LoginCallbacks,
  type LoginCredentials,
  type ProviderLogin,
} from "./provider-login.ts";

/** Time before the end of a login at which it is refreshed: a request takes a while, and clocks differ. */
const MARGIN_MS = 60_000;
/** The next attempt asks a provider again that has not answered by then. */
const REFRESH_TIMEOUT_MS = 30_000;
/** Longer than a refresh takes. The lock of a dead process is detected at once. */
const LOCK = { staleMs: 4 * REFRESH_TIMEOUT_MS, waitMs: 2 * REFRESH_TIMEOUT_MS };
/** Minimum time between two refreshes of a login that lives shorter than the margin. */
const MIN_REFRESH_INTERVAL_MS = 30_000;
const REVOKE_TIMEOUT_MS = 10_000;

/** The ways to log in at providers, and the stored logins. */
export class LoginRegistry {
  readonly #file: AuthFile;
  /** Running refreshes by provider. Requests of one process share them. */
  readonly #running = new Map<string, Promise<LoginCredentials>>();
  readonly #refreshed = new Map<string, { access: string; atMs: number }>();
  #added: readonly { provider: string; login: ProviderLogin }[] = [];
  #listeners: readonly ((provider: string) => void)[] = [];

  constructor(file: AuthFile) {
    this.#file = file;
  }

  /** Adds a way to log in. The latest one counts. Returns a function that removes it. */
  add(provider: string, login: ProviderLogin): () => void {
    const entry = { provider, login };
    this.#added = [...this.#added, entry];
    return () => {
      this.#added = this.#added.filter((each) => each !== entry);
    };
  }

  /** The way to log in at a provider; undefined if there is none. */
  of(provider: string): ProviderLogin | undefined {
    return this.#added.findLast((each) => each.provider === provider)?.login;
  }

  /** The stored login of a provider, even without a way to log in there. @throws BonsaiError `keys_unreadable` */
  stored(provider: string): LoginCredentials | undefined {
    return credentialsOf(this.#file.entry(provider));
  }

  /** `expires` is undefined if the login does not expire. @throws BonsaiError `keys_unreadable` */
  state(provider: string): { expires: number | undefined } | undefined {
    const stored = this.stored(provider);
    return stored && { expires: Number.isFinite(stored.expires) ? stored.expires : undefined };
  }

  /** The key in an entry of the file, without a refresh. */
  keyOf(provider: string, entry: AuthEntry | undefined): string | undefined {
    const credentials = credentialsOf(entry);
    const login = credentials && this.of(provider);
    return login && apiKeyOf(login, credentials);
  }

  /** Calls the listener with each provider whose key or login changed in this process. Returns a function that stops it. */
  onChange(listener: (provider: string) => void): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener);
    };
  }

  changed(provider: string): void {
    for (const listener of this.#listeners) listener(provider);
  }

  /**
   * Runs a provider's login and stores the credentials. Does not wait for a login that ignores the signal.
   * @throws BonsaiError `login_none`, `login_unusable`; the error of the login; the signal's reason after an abort. It
   *   stores nothing then
   */
  async login(provider: string, callbacks: LoginCallbacks): Promise<{ expires: number | undefined }> {
    const way = this.of(provider);
    if (way === undefined)
      throw new BonsaiError({
        code: "login_none",
        message: `Bonsai has no login for ${provider}.`,
        hint: "Load the extension that adds this login, or store an API key with /login.",
      });
    const { signal } = callbacks;
    signal.throwIfAborted();
    const running = Promise.resolve().then(() => way.login(callbacks));
    const credentials = checkedCredentials(provider, await raceAbort(running, signal));
    signal.throwIfAborted();
    this.#file.change(provider, () => ({ type: "oauth", ...credentials }));
    this.changed(provider);
    return this.state(provider) ?? { expires: undefined };
  }

  /**
   * Removes the stored login, then revokes it at the provider if possible: a provider that does not answer must not keep the
   * user logged in here. Returns undefined if nothing is stored. `problem` is the reason why the revocation failed.
   */
  async logout(
    provider: string,
    signal?: AbortSignal,
  ): Promise<{ isRevoked: boolean; problem?: string } | undefined> {
    let stored: LoginCredentials | undefined;
    const isRemoved =
      this.#file.entry(provider) !== undefined &&
      this.#file.change(provider, (entry) => {
        stored = credentialsOf(entry);
        return undefined;
      });
    this.changed(provider);
    if (!isRemoved) return undefined;
    const way = this.of(provider);
    if (stored === undefined || way?.revoke === undefined) return { isRevoked: false };
    const ends = AbortSignal.any([AbortSignal.timeout(REVOKE_TIMEOUT_MS), ...(signal ? [signal] : [])]);
    try {
      await raceAbort(way.revoke(stored, ends), ends);
      return { isRevoked: true };
    } catch (error) {
      return { isRevoked: false, problem: safeMessage(error, stored) };
    }
  }

  /**
   * Returns the key to send now. Refreshes the login first if it ends soon or its key was refused. An abort ends the wait,
   * not the refresh: its credentials may be the only valid ones afterwards.
   * @throws as `KeySource.freshKey`
   */
  async freshKey(provider: string, { refused, signal }: FreshKeyOptions = {}): Promise<string | undefined> {
    const login = this.of(provider);
    const stored = this.stored(provider);
    if (login === undefined || stored === undefined) return undefined;
    const key = apiKeyOf(login, stored);
    const isDue = refused === undefined ? this.#endsSoon(provider, stored) : key === refused;
    if (!isDue) return key;
    const refresh = this.#running.get(provider) ?? this.#startRefresh(provider, login, stored);
    return apiKeyOf(login, await raceAbort(refresh, signal));
  }

  #endsSoon(provider: string, { expires, access }: LoginCredentials): boolean {
    if (expires === undefined || !Number.isFinite(expires) || Date.now() < expires - MARGIN_MS) return false;
    const last = this.#refreshed.get(provider);
    return last?.access !== access || performance.now() - last.atMs > MIN_REFRESH_INTERVAL_MS;
  }

  #startRefresh(provider: string, login: ProviderLogin, stale: LoginCredentials): Promise<LoginCredentials> {
    const path = `${this.#file.path}.${encodeURIComponent(provider)}.lock`;
    const refresh = locked({ path, ...LOCK }, () => this.#refresh(provider, login, stale)).finally(() =>
      this.#running.delete(provider),
    );
    this.#running.set(provider, refresh);
    refresh.then(
      () => this.changed(provider),
      () => {
        // The waiting requests get the error.
      },
    );
    return refresh;
  }

  /** Returns the credentials of another process if it refreshed the login while this one waited for the lock. */
  async #refresh(provider: string, login: ProviderLogin, stale: LoginCredentials): Promise<LoginCredentials> {
    const now = this.stored(provider);
    if (now === undefined) throw ended(provider, "it was removed in the meantime");
    if (!isSame(now, stale)) return now;
    // Many providers revoke the old refresh token with their answer, so the new one must not get lost.
    this.#file.proveWritable(provider);
    const fresh = await refreshed(provider, login, now).catch((error: unknown) => {
      if (BonsaiError.is(error) && error.code === "login_expired") this.#replace(provider, now, undefined);
      throw error;
    });
    this.#replace(provider, now, fresh);
    this.#refreshed.set(provider, { access: fresh.access, atMs: performance.now() });
    return fresh;
  }

  /** Keeps an entry that a login or a logout has written meanwhile. */
  #replace(provider: string, before: LoginCredentials, fresh: LoginCredentials | undefined): void {
    this.#file.change(provider, (entry) => {
      if (!isSame(credentialsOf(entry), before)) return entry;
      return fresh && { ...entry, ...fresh, type: "oauth" };
    });
  }
}

function isSame(a: LoginCredentials | undefined, b: LoginCredentials): boolean {
  return a?.access === b.access && a.refresh === b.refresh;
}

async function refreshed(
  provider: string,
  login: ProviderLogin,
  stale: LoginCredentials,
): Promise<LoginCredentials> {
  const signal = AbortSignal.timeout(REFRESH_TIMEOUT_MS);
  try {
    const refresh = Promise.resolve().then(() => login.refreshToken({ ...stale }, signal));
    const credentials = await raceAbort(refresh, signal);
    const { expires: _expires, ...others } = stale;
    return { ...others, ...checkedCredentials(provider, credentials) };
  } catch (error) {
    throw refreshFailure(provider, stale, error);
  }
}

/** The word of providers and extensions for a login that has ended. */
const ENDED = /\binvalid_grant\b/;

function refreshFailure(provider: string, stale: LoginCredentials, error: unknown): Error {
  const message = safeMessage(error, stale);
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

function safeMessage(error: unknown, { access, refresh }: LoginCredentials): string {
  const message = error instanceof Error ? error.message : String(error);
  return redactSecrets(message, { known: [access, refresh], isStrict: true });
}

function ended(provider: string, reason: string): BonsaiError {
  return new BonsaiError({
    code: "login_expired",
    message: `The login to ${provider} is no longer valid: ${reason.replace(/[.\s]*$/, "")}.`,
    hint: `Log in again with /login ${provider}, or \`bonsai login ${provider}\` in a shell.`,
  });
}
