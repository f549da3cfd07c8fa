import { statSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { configValue, piKeys } from "../catalogue/pi-models-file.ts";
import type { KeyOrigin, ProviderConfig } from "../model.ts";
import { type AuthEntry, AuthFile, exposure } from "./auth-file.ts";
import { LoginRegistry } from "./login-registry.ts";
import { credentialsOf, type FreshKeyOptions } from "./provider-login.ts";
import { hasLiteralKeys, isPlaceholder, knownSecrets, type NamedSecret } from "./secrets.ts";

/** A source of API keys. */
export interface KeySource {
  /** The key of a provider; undefined if there is none, or none is needed. */
  key(provider: ProviderConfig): string | undefined;
  /**
   * The key to send now. Refreshes a login that ends soon. Default: `key`.
   * @throws what `key` throws; `login_expired`; the signal's reason after an abort; a ProviderError if a retry may refresh
   *   the login
   */
  freshKey?(provider: ProviderConfig, options?: FreshKeyOptions): Promise<string | undefined>;
  /** All known keys, for redaction. Default: none. */
  secrets?(): readonly NamedSecret[];
}

/** The places of keys. */
export interface FileKeysOptions {
  /** Bonsai's home folder. Keys are stored in its `auth.json`. */
  home: string;
  /** The variables of the environment. `apiKeyEnv` of a provider names its own. */
  env: Readonly<Record<string, string | undefined>>;
  /** Called once for each file. Default: nothing. */
  onNotice?: ((notice: { code: "keys_exposed"; message: string }) => void) | undefined;
}

type FoundKey = { key: string; origin: KeyOrigin };

/**
 * Keys that were lent, then of the environment, then of `<home>/auth.json`
 * (`{"anthropic": {"type": "api_key", "key": "…"}}`). Reads the file for each key: a key stored just now is used at
 * once. No error contains a key.
 * @throws BonsaiError, on each call: `keys_unreadable`, `keys_invalid`
 */
export class KeyFile implements KeySource {
  /** The ways to log in, and the stored logins. */
  readonly logins: LoginRegistry;
  readonly #options: FileKeysOptions;
  readonly #file: AuthFile;
  readonly #configured: ConfiguredKeys;
  #lent: readonly { provider: string; key: string }[] = [];
  /** Keys of requests, from any place. */
  readonly #used = new Map<string, NamedSecret>();
  #isExposureChecked = false;

  constructor(options: FileKeysOptions) {
    this.#options = options;
    this.#file = new AuthFile(join(options.home, "auth.json"));
    this.logins = new LoginRegistry(this.#file);
    this.#configured = new ConfiguredKeys(join(options.home, "models.json"), options.env);
  }

  key(provider: ProviderConfig): string | undefined {
    return this.#find(provider)?.key;
  }

  async freshKey(provider: ProviderConfig, options?: FreshKeyOptions): Promise<string | undefined> {
    const { key, origin } = this.#find(provider) ?? {};
    if (origin === "login") return this.logins.freshKey(provider.provider, options);
    if (origin !== "models" || key !== options?.refused) return key;
    this.#configured.forget(provider.provider);
    return this.key(provider);
  }

  /** The place of the provider's key; undefined if it has none. */
  source(provider: ProviderConfig): KeyOrigin | undefined {
    return this.#find(provider)?.origin;
  }

  /** The providers with a key or a login in the file, in its order. */
  stored(): readonly string[] {
    this.#checkExposure();
    return Object.entries(this.#file.entries()).flatMap(([provider, entry]) =>
      (entry.type ?? "api_key") === "api_key" || credentialsOf(entry) !== undefined ? [provider] : [],
    );
  }

  /** Writes a provider's key to the file. Replaces its login. */
  store(provider: string, key: string): void {
    const entry = { type: "api_key", key: sendable(key.trim(), `the key for ${provider}`) };
    this.#file.change(provider, () => entry);
    this.logins.changed(provider);
  }

  /** Removes a provider's key or login from the file. Returns false if there was none. */
  remove(provider: string): boolean {
    if (this.#file.entry(provider) === undefined) return false;
    const isRemoved = this.#file.change(provider, () => undefined);
    this.logins.changed(provider);
    return isRemoved;
  }

  secrets(): readonly NamedSecret[] {
    const { home, env } = this.#options;
    const lent = this.#lent.map(({ provider, key }) => ({ name: `key of ${provider}`, value: key }));
    return [...lent, ...knownSecrets(home, env), ...this.#used.values()];
  }

  /**
   * Uses this key for the provider, without storing it, until the returned function is called. The latest one counts.
   * @throws BonsaiError `keys_invalid`
   */
  lend(provider: string, key: string): () => void {
    const loan = { provider, key: sendable(key.trim(), `the key for ${provider}`) };
    this.#lent = [...this.#lent, loan];
    return () => {
      this.#lent = this.#lent.filter((each) => each !== loan);
    };
  }

  #find(provider: ProviderConfig): FoundKey | undefined {
    this.#checkExposure();
    const found = this.#search(provider);
    if (found !== undefined && !(found.origin === "models" && isPlaceholder(found.key))) {
      const name = provider.apiKeyEnv ?? `key of ${provider.provider}`;
      this.#used.set(found.key, { name, value: found.key });
    }
    return found;
  }

  #search({ provider, apiKeyEnv }: ProviderConfig): FoundKey | undefined {
    const loan = this.#lent.findLast((each) => each.provider === provider);
    if (loan !== undefined) return { key: loan.key, origin: "lent" };
    const own = apiKeyEnv === undefined ? undefined : this.#options.env[apiKeyEnv]?.trim();
    if (own) return { key: sendable(own, apiKeyEnv!), origin: "environment" };
    const entry = this.#file.entry(provider);
    const key = storedKey(entry, provider, this.#file.path);
    if (key !== undefined) return { key, origin: "file" };
    const loginKey = this.logins.keyOf(provider, entry);
    if (loginKey !== undefined) return { key: loginKey, origin: "login" };
    const configured = this.#configured.of(provider);
    return configured === undefined ? undefined : { key: configured, origin: "models" };
  }

  /** Checks both files, regardless of the place of the key in use. */
  #checkExposure(): void {
    const { home, onNotice } = this.#options;
    if (this.#isExposureChecked || onNotice === undefined) return;
    this.#isExposureChecked = true;
    const models = hasLiteralKeys(home) ? exposure(join(home, "models.json")) : undefined;
    for (const message of [exposure(this.#file.path), models])
      if (message !== undefined)
        onNotice({
          /** Other users can read `auth.json`, or keys in `models.json`. */ code: "keys_exposed",
          message,
        });
  }
}

/** The keys in a `models.json` in pi's format: a text, a variable or the output of a command. */
class ConfiguredKeys {
  readonly #file: string;
  readonly #env: FileKeysOptions["env"];
  #stamp = "";
  #values: ReadonlyMap<string, string> = new Map();
  /** The resolved keys, by provider. A command runs once, until its key is refused. */
  readonly #keys = new Map<string, string | undefined>();

  constructor(file: string, env: FileKeysOptions["env"]) {
    this.#file = file;
    this.#env = env;
  }

  of(provider: string): string | undefined {
    this.#read();
    const value = this.#values.get(provider);
    if (value !== undefined && !this.#keys.has(provider)) {
      const key = configValue(value, this.#env)?.trim();
      const place = `${this.#file}: providers.${provider}.apiKey`;
      this.#keys.set(provider, key === undefined ? undefined : sendable(key, place));
    }
    return this.#keys.get(provider);
  }

  forget(provider: string): void {
    this.#keys.delete(provider);
  }

  /** The catalogue reports a file that cannot be read. */
  #read(): void {
    const { mtimeMs = 0, size = 0 } = statSync(this.#file, { throwIfNoEntry: false }) ?? {};
    const stamp = `${mtimeMs} ${size}`;
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#keys.clear();
    this.#values = size === 0 ? new Map() : piKeys(this.#file);
  }
}

/** Ignores entries of other types: logins, and entries of other programs. */
function storedKey(entry: AuthEntry | undefined, provider: string, file: string): string | undefined {
  if (entry === undefined) return undefined;
  const { type = "api_key", key } = entry;
  if (type !== "api_key") return undefined;
  const place = `${file}: ${provider}.key`;
  if (typeof key === "string") return sendable(key.trim(), place);
  throw new BonsaiError({
    code: "keys_invalid",
    message: `${place} is ${key === undefined ? "missing" : `of type ${typeof key}`}, but must be a string.`,
    hint: `Write it as {"${provider}": {"type": "api_key", "key": "…"}}, or remove ${provider}.`,
  });
}

/** HTTP refuses other characters, with a message that contains the key. */
function sendable(key: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && !/["'`]/.test(key)) return key;
  throw new BonsaiError({
    code: "keys_invalid",
    message: `${place} ${key === "" ? "is empty" : "contains a space, a line break, a quotation mark or another character that keys cannot contain"}.`,
    hint: "Copy the key again, without the text around it.",
  });
}
