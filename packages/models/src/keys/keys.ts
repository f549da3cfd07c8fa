import { statSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { configValue } from "../catalogue/config-value.ts";
import { piKeys } from "../catalogue/pi-models-file.ts";
import { isLoopback, type ProviderConfig } from "../model.ts";
import { type AuthEntry, AuthFile, exposure } from "./auth-file.ts";
import { credentialsOf } from "./credentials.ts";
import { Logins } from "./logins.ts";
import { hasLiteralKeys, isPlaceholder, knownSecrets, type NamedSecret } from "./secrets.ts";

/** Where keys come from. */
export interface KeySource {
  /** The key for a provider; undefined where there is none, or none is needed. */
  key(provider: ProviderConfig): string | undefined;
  /**
   * The key to send with a request that is made now: a login that ends soon is refreshed before. Default: `key`.
   * @throws what `key` throws, `login_expired`, the signal's reason after an abort, and a ProviderError where the refresh
   *   failed in passing
   */
  freshKey?(provider: ProviderConfig, options?: FreshKeyOptions): Promise<string | undefined>;
  /** All that is known, to be kept out of what is shown and sent, as it is now. Default: nothing. */
  secrets?(): readonly NamedSecret[];
}

/** Who asks for a key, and why. */
export interface FreshKeyOptions {
  /** A key that was refused just now: another is wanted. */
  refused?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Where a key was found; `login`: of a login whose provider is known; `models`: in a `models.json` of pi. */
export type KeyOrigin = "lent" | "environment" | "file" | "login" | "models";

/** Keys that were lent, then those of the environment, then keys and logins of a file that can be changed. */
export interface KeyFile extends KeySource {
  /** Where the provider's key stands; undefined where there is none. */
  source(provider: ProviderConfig): KeyOrigin | undefined;
  /** The logins of providers: those that can be run, and what is stored of them. */
  readonly logins: Logins;
  /** The providers of whom a key or a login stands in the file, in its order. */
  stored(): readonly string[];
  /** Writes a provider's key to the file, in the place of its login too; what is of other providers stays. */
  store(provider: string, key: string): void;
  /** Takes a provider's key or login out of the file; false where there was none. */
  remove(provider: string): boolean;
  /**
   * Uses this key for the provider until the function returned is called; it is written nowhere. The latest counts.
   * @throws BonsaiError `keys_invalid`
   */
  lend(provider: string, key: string): () => void;
}

/** True where the provider has a key, or needs none, and lacks nothing else. @throws what the key source throws */
export function isReachable(provider: ProviderConfig, keys: KeySource | undefined): boolean {
  if (provider.missing !== undefined) return false;
  if (provider.apiKeyEnv === undefined && provider.login === undefined) return true;
  if (keys?.key(provider) !== undefined) return true;
  return isLoopback(provider) && provider.needsKey !== true;
}

/** Something about the file of keys that its owner should know. */
export interface KeyNotice {
  /** Stable. */
  code: "keys_exposed";
  /** One sentence, and what to do about it. */
  message: string;
}

/** Where keys are looked for. */
export interface FileKeysOptions {
  /** Bonsai's home folder: the keys stand in `<home>/auth.json`. */
  home: string;
  /** The variables; `apiKeyEnv` of a provider names its own. */
  env: Readonly<Record<string, string | undefined>>;
  /** Called once for each file. Default: nothing. */
  onNotice?: ((notice: KeyNotice) => void) | undefined;
}

/**
 * Keys that were lent, then of the environment, then of `<home>/auth.json`: `{"anthropic": {"type": "api_key", "key": "…"}}`. The file is
 * read whenever a key is asked for, so a key that was just stored is used at once. No error holds a key.
 * @throws BonsaiError, on each call: `keys_unreadable`, `keys_invalid`
 */
export function fileKeys({ home, env, onNotice }: FileKeysOptions): KeyFile {
  const file = new AuthFile(join(home, "auth.json"));
  const logins = new Logins(file);
  const configuredKeys = new ConfiguredKeys(join(home, "models.json"), env);
  let isChecked = onNotice === undefined;
  /** Whichever key is used: the others are exposed all the same. */
  const checkExposure = () => {
    if (isChecked) return;
    isChecked = true;
    const models = hasLiteralKeys(home) ? exposure(join(home, "models.json")) : undefined;
    for (const message of [exposure(file.path), models])
      if (message !== undefined)
        onNotice?.({
          /** Other users can read `auth.json`, or keys in `models.json`. */ code: "keys_exposed",
          message,
        });
  };
  let lent: readonly { provider: string; key: string }[] = [];
  /** Keys that requests were made with, by provider: they can come from anywhere. */
  const used = new Map<string, NamedSecret>();
  const found = (provider: ProviderConfig): FoundKey | undefined => {
    const key = search(provider);
    if (key !== undefined && !(key.origin === "models" && isPlaceholder(key.key))) {
      const name = provider.apiKeyEnv ?? `key of ${provider.provider}`;
      used.set(key.key, { name, value: key.key });
    }
    return key;
  };
  const search = (provider: ProviderConfig): FoundKey | undefined => {
    checkExposure();
    const loan = lent.findLast((each) => each.provider === provider.provider);
    if (loan !== undefined) return { key: loan.key, origin: "lent" };
    const { apiKeyEnv } = provider;
    const own = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]?.trim();
    if (own) return { key: sendable(own, apiKeyEnv!), origin: "environment" };
    const entry = file.entry(provider.provider);
    const key = storedKey(entry, provider.provider, file.path);
    if (key !== undefined) return { key, origin: "file" };
    const loginKey = logins.keyOf(provider.provider, entry);
    if (loginKey !== undefined) return { key: loginKey, origin: "login" };
    const configured = configuredKeys.of(provider.provider);
    return configured === undefined ? undefined : { key: configured, origin: "models" };
  };
  return {
    logins,
    key: (provider) => found(provider)?.key,
    freshKey: async (provider, options) => {
      const { key, origin } = found(provider) ?? {};
      if (origin === "models" && key === options?.refused) {
        configuredKeys.forget(provider.provider);
        return found(provider)?.key;
      }
      return origin === "login" ? logins.freshKey(provider.provider, options) : key;
    },
    source: (provider) => found(provider)?.origin,
    stored: () => {
      checkExposure();
      return Object.entries(file.entries()).flatMap(([provider, entry]) =>
        (entry.type ?? "api_key") === "api_key" || credentialsOf(entry) !== undefined ? [provider] : [],
      );
    },
    store: (provider, key) => {
      const entry = { type: "api_key", key: sendable(key.trim(), `the key for ${provider}`) };
      file.change(provider, () => entry);
      logins.changed(provider);
    },
    remove: (provider) => {
      if (file.entry(provider) === undefined) return false;
      const isGone = file.change(provider, () => undefined);
      logins.changed(provider);
      return isGone;
    },
    secrets: () => [
      ...lent.map(({ provider, key }) => ({ name: `key of ${provider}`, value: key })),
      ...knownSecrets(home, env),
      ...used.values(),
    ],
    lend: (provider, key) => {
      const loan = { provider, key: sendable(key.trim(), `the key for ${provider}`) };
      lent = [...lent, loan];
      return () => {
        lent = lent.filter((each) => each !== loan);
      };
    },
  };
}

interface FoundKey {
  key: string;
  origin: KeyOrigin;
}

/** Owner of the keys that a `models.json` in pi's form gives: a text, a variable or the output of a command. */
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
    if (value === undefined) return undefined;
    if (!this.#keys.has(provider)) this.#keys.set(provider, this.#resolve(provider, value));
    return this.#keys.get(provider);
  }

  /** Makes `of` resolve the key again, after a refusal. */
  forget(provider: string): void {
    this.#keys.delete(provider);
  }

  #resolve(provider: string, value: string): string | undefined {
    const key = configValue(value, this.#env)?.trim();
    return key === undefined ? undefined : sendable(key, `${this.#file}: providers.${provider}.apiKey`);
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

/** Entries of other kinds (a login, what another program stored) are no keys, and no errors. */
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

/** HTTP refuses any other key, with a message that shows it. */
function sendable(key: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && !/["'`]/.test(key)) return key;
  throw new BonsaiError({
    code: "keys_invalid",
    message: `${place} ${key === "" ? "is empty" : "contains a space, a line break, a quotation mark or another character that keys cannot contain"}.`,
    hint: "Copy the key again, without the text around it.",
  });
}
