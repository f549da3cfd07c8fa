import type { AuthEntry, AuthFile } from "./auth-file.ts";
import { apiKeyOf, credentialsOf } from "./credentials.ts";
import type {
  LoginCallbacks,
  LoginCredentials,
  LoginState,
  Logout,
  ProviderLogin,
} from "./provider-login.ts";

/**
 * The logins of providers: who can log in, and what is stored. Owner of those that can be run; what runs them is loaded
 * when one is used.
 */
export class Logins {
  readonly #file: AuthFile;
  readonly #refreshes = new Map<string, Promise<LoginCredentials>>();
  #added: readonly { provider: string; login: ProviderLogin }[] = [];
  #listeners: readonly ((provider: string) => void)[] = [];

  constructor(file: AuthFile) {
    this.#file = file;
  }

  /** Lets users log in at a provider until the function returned is called; the latest counts. */
  add(provider: string, login: ProviderLogin): () => void {
    const entry = { provider, login };
    this.#added = [...this.#added, entry];
    return () => {
      this.#added = this.#added.filter((each) => each !== entry);
    };
  }

  /** The login of a provider; undefined where it has none. */
  of(provider: string): ProviderLogin | undefined {
    return this.#added.findLast((each) => each.provider === provider)?.login;
  }

  /** What is stored of a login, whether its provider is known now or not. @throws BonsaiError `keys_unreadable` */
  stored(provider: string): LoginCredentials | undefined {
    return credentialsOf(this.#file.entry(provider));
  }

  /** @throws BonsaiError `keys_unreadable` */
  state(provider: string): LoginState | undefined {
    const stored = this.stored(provider);
    return stored && { expires: Number.isFinite(stored.expires) ? stored.expires : undefined };
  }

  /** The key that an entry of the file gives, as it stands there. */
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
    return freshKey({
      provider,
      login,
      file: this.#file,
      running: this.#refreshes,
      refused,
      signal,
      onChanged: () => this.changed(provider),
    });
  }

  /**
   * Runs a provider's login and stores what it gives.
   * @throws BonsaiError `login_none`, `login_unusable`; what the login throws, and the signal's reason after an abort:
   *   then nothing is stored
   */
  async login(provider: string, callbacks: LoginCallbacks): Promise<LoginState> {
    const { runLogin } = await import("./run-login.ts");
    await runLogin({ provider, login: this.of(provider), file: this.#file, callbacks });
    this.changed(provider);
    return this.state(provider) ?? { expires: undefined };
  }

  /** Takes what is stored away, here and, where its provider can, there. Undefined where nothing is stored. */
  async logout(provider: string, signal?: AbortSignal): Promise<Logout | undefined> {
    const { runLogout } = await import("./run-login.ts");
    const done = await runLogout({ provider, login: this.of(provider), file: this.#file, signal });
    this.changed(provider);
    return done;
  }

  /** Calls the listener with a provider whose key or login changed in this process. @returns ends it */
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
