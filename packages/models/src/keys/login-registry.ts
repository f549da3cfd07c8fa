import type { AuthEntry, AuthFile } from "./auth-file.ts";
import {
  apiKeyOf,
  credentialsOf,
  type LoginCallbacks,
  type LoginCredentials,
  type LoginState,
  type Logout,
  type ProviderLogin,
} from "./provider-login.ts";

/** The ways to log in at providers, and the stored logins. Loads the code of a login when one is used. */
export class LoginRegistry {
  readonly #file: AuthFile;
  readonly #refreshes = new Map<string, Promise<LoginCredentials>>();
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

  /** @throws BonsaiError `keys_unreadable` */
  state(provider: string): LoginState | undefined {
    const stored = this.stored(provider);
    return stored && { expires: Number.isFinite(stored.expires) ? stored.expires : undefined };
  }

  /** The key in an entry of the file, without a refresh. */
  keyOf(provider: string, entry: AuthEntry | undefined): string | undefined {
    const credentials = credentialsOf(entry);
    const login = credentials && this.of(provider);
    return login && apiKeyOf(login, credentials);
  }

  /** The key to send now. @throws as `KeySource.freshKey` */
  async freshKey(
    provider: string,
    { refused, signal }: { refused?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<string | undefined> {
    const login = this.of(provider);
    if (login === undefined) return undefined;
    const { freshKey } = await import("./refresh.ts");
    const onChanged = () => this.changed(provider);
    return freshKey({
      provider,
      login,
      file: this.#file,
      running: this.#refreshes,
      refused,
      signal,
      onChanged,
    });
  }

  /**
   * Runs a provider's login and stores the credentials.
   * @throws BonsaiError `login_none`, `login_unusable`; the error of the login; the signal's reason after an abort. It
   *   stores nothing then
   */
  async login(provider: string, callbacks: LoginCallbacks): Promise<LoginState> {
    const { login } = await import("./login.ts");
    await login({ provider, login: this.of(provider), file: this.#file, callbacks });
    this.changed(provider);
    return this.state(provider) ?? { expires: undefined };
  }

  /** Removes the stored login and revokes it at the provider if possible. Returns undefined if nothing is stored. */
  async logout(provider: string, signal?: AbortSignal): Promise<Logout | undefined> {
    const { logout } = await import("./login.ts");
    const result = await logout({ provider, login: this.of(provider), file: this.#file, signal });
    this.changed(provider);
    return result;
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
}
