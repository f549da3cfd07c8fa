import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { type AuthEntries, readAuthFile, writeAuthFile } from "./auth-file.ts";
import type { ProviderConfig } from "./catalogue-model.ts";
import type { KeyFile, KeyOrigin } from "./keys.ts";
import { knownSecrets } from "./known-secrets.ts";

/** Something about the file of keys that its owner should know. */
export interface KeyNotice {
  code: "keys_exposed";
  message: string;
}

export interface FileKeysOptions {
  /** Bonsai's home folder: the keys stand in `<home>/auth.json`. */
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Told once. Default: nobody. */
  onNotice?: ((notice: KeyNotice) => void) | undefined;
}

/**
 * Keys that were lent, then of the environment, then of `<home>/auth.json`: `{"anthropic": {"type": "api_key", "key": "…"}}`. The file is
 * read whenever a key is asked for, so a key that was just stored is used at once. No error holds a key.
 * @throws BonsaiError, on each call: `keys_unreadable`, `keys_invalid`
 */
export function fileKeys({ home, env, onNotice }: FileKeysOptions): KeyFile {
  const file = join(home, "auth.json");
  let isTold = onNotice === undefined;
  const entries = (): AuthEntries => {
    const message = isTold ? undefined : exposure(file);
    if (message !== undefined) {
      isTold = true;
      onNotice?.({ code: "keys_exposed", message });
    }
    return readAuthFile(file);
  };
  let lent: readonly { provider: string; key: string }[] = [];
  const found = (provider: ProviderConfig): { key: string; origin: KeyOrigin } | undefined => {
    const loan = lent.findLast((each) => each.provider === provider.provider);
    if (loan !== undefined) return { key: loan.key, origin: "lent" };
    const { apiKeyEnv } = provider;
    const own = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]?.trim();
    if (own) return { key: sendable(own, apiKeyEnv!), origin: "environment" };
    const key = storedKey(entries(), provider.provider, file);
    return key === undefined ? undefined : { key, origin: "file" };
  };
  return {
    key: (provider) => found(provider)?.key,
    source: (provider) => found(provider)?.origin,
    store: (provider, key) => {
      const entry = { type: "api_key", key: sendable(key.trim(), `the key for ${provider}`) };
      writeAuthFile(file, { ...readAuthFile(file), [provider]: entry });
    },
    remove: (provider) => {
      const { [provider]: removed, ...rest } = readAuthFile(file);
      if (removed !== undefined) writeAuthFile(file, rest);
      return removed !== undefined;
    },
    secrets: () => [
      ...lent.map(({ provider, key }) => ({ name: `key of ${provider}`, value: key })),
      ...knownSecrets(home),
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

/** Entries of other kinds (a sign-in that another program stored) are no keys, and no errors. */
function storedKey(entries: AuthEntries, provider: string, file: string): string | undefined {
  if (!Object.hasOwn(entries, provider)) return undefined;
  const { type = "api_key", key } = entries[provider]!;
  if (type !== "api_key") return undefined;
  const place = `${file}: ${provider}.key`;
  if (typeof key === "string") return sendable(key.trim(), place);
  throw new BonsaiError({
    code: "keys_invalid",
    message: `${place} is ${key === undefined ? "missing" : `a value of type ${typeof key}`}; allowed is a text.`,
    hint: `Write it as {"${provider}": {"type": "api_key", "key": "…"}}, or remove ${provider}.`,
  });
}

/** Anything else would be refused as a header, in words that show it. */
function sendable(key: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && !/["'`]/.test(key)) return key;
  throw new BonsaiError({
    code: "keys_invalid",
    message: `${place} ${key === "" ? "is empty" : "holds a blank, a line break, a quotation mark or a letter that no key has"}.`,
    hint: "Copy the key again, without what stands around it.",
  });
}

function exposure(file: string): string | undefined {
  if (process.platform === "win32" || !existsSync(file)) return undefined;
  const stat = statSync(file);
  const mode = stat.mode & 0o777;
  if (!stat.isFile() || (mode & 0o077) === 0) return undefined;
  return `${file} holds keys, and others can read it (mode ${mode.toString(8)}): run chmod 600 on it.`;
}
