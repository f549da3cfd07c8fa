import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BonsaiError, isRecord, isTooDeep, MAX_LEVELS } from "@bonsai-agent/messages";
import { textFile } from "./json-file.ts";
import { isLoopback, type ProviderConfig } from "./model.ts";

/** Where keys come from. */
export interface KeySource {
  /** The key for a provider; undefined where there is none, or none is needed. */
  key(provider: ProviderConfig): string | undefined;
  /** All that is known, to be kept out of what is shown and sent, as it is now. Default: nothing. */
  secrets?(): readonly NamedSecret[];
}

/** Where a key was found. */
export type KeyOrigin = "lent" | "environment" | "file";

/** Keys that were lent, then those of the environment, then of a file that can be changed. */
export interface KeyFile extends KeySource {
  /** Where the provider's key stands; undefined where there is none. */
  source(provider: ProviderConfig): KeyOrigin | undefined;
  /** The providers whose keys stand in the file, in its order. */
  stored(): readonly string[];
  /** Writes a provider's key to the file; keys of other providers stay. */
  store(provider: string, key: string): void;
  /** Takes a provider's key out of the file; false where there was none. */
  remove(provider: string): boolean;
  /**
   * Uses this key for the provider until the function returned is called; it is written nowhere. The latest counts.
   * @throws BonsaiError `keys_invalid`
   */
  lend(provider: string, key: string): () => void;
}

/** True where the provider has a key, or needs none. @throws what the key source throws */
export function isReachable(provider: ProviderConfig, keys: KeySource | undefined): boolean {
  if (provider.apiKeyEnv === undefined || keys?.key(provider) !== undefined) return true;
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
  /** Called once. Default: nothing. */
  onNotice?: ((notice: KeyNotice) => void) | undefined;
}

/**
 * Keys that were lent, then of the environment, then of `<home>/auth.json`: `{"anthropic": {"type": "api_key", "key": "…"}}`. The file is
 * read whenever a key is asked for, so a key that was just stored is used at once. No error holds a key.
 * @throws BonsaiError, on each call: `keys_unreadable`, `keys_invalid`
 */
export function fileKeys({ home, env, onNotice }: FileKeysOptions): KeyFile {
  const file = join(home, "auth.json");
  let isNotified = onNotice === undefined;
  const entries = (): AuthEntries => {
    const message = isNotified ? undefined : exposure(file);
    if (message !== undefined) {
      isNotified = true;
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
    stored: () =>
      Object.entries(entries()).flatMap(([provider, { type = "api_key" }]) =>
        type === "api_key" ? [provider] : [],
      ),
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

/** What stands in the file, by provider; entries of kinds that Bonsai does not know are kept as they are. */
type AuthEntries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Reads a file of keys; without one there are none.
 * @throws BonsaiError `keys_unreadable`, without a word of what stands in the file
 */
function readAuthFile(file: string): AuthEntries {
  let text: string | undefined;
  let value: unknown;
  try {
    text = textFile(file);
  } catch (cause) {
    throw damaged(file, `cannot be read: ${(cause as Error).message}`);
  }
  if (text === undefined) return {};
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, so it is neither shown nor kept.
    throw damaged(file, "is no JSON");
  }
  if (!isRecord(value)) throw damaged(file, "is no JSON object");
  // It is written anew with each key that is saved.
  if (isTooDeep(value)) throw damaged(file, `is nested deeper than ${MAX_LEVELS} levels`);
  for (const [provider, entry] of Object.entries(value)) {
    if (!isRecord(entry)) throw damaged(file, `has no object for ${JSON.stringify(provider)}`);
  }
  return value as AuthEntries;
}

/** Replaces the file as a whole, for its owner's eyes only; a link stays a link. */
function writeAuthFile(file: string, entries: AuthEntries): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const target = linked(file);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    writeFileSync(temporary, `${JSON.stringify(entries, null, 2)}\n`, {
      flag: "wx",
      mode: 0o600,
      flush: true,
    });
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function linked(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return file;
    throw error;
  }
}

function damaged(file: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "keys_unreadable",
    message: `The file of keys ${file} ${what}.`,
    hint: 'Its shape is {"anthropic": {"type": "api_key", "key": "…"}}. Mend it, or move it away.',
  });
}

/** Something that must not be shown, with what is shown instead. */
export interface NamedSecret {
  /** Whose it is, for people. */
  name: string;
  /** The secret itself. */
  value: string;
}

/** What stands under such a name lets somebody in. */
const secretField = /key|token|secret|password|authorization|access|refresh|cookie|credential/i;

/**
 * All that stands in Bonsai's files of keys: every text of `auth.json` (other programs store sign-ins there as well), and
 * the headers and keys of `models.json`. The files are read at each call, so a key that was just stored is among them;
 * one that cannot be read has none.
 */
function knownSecrets(home: string): NamedSecret[] {
  const auth = jsonFile(join(home, "auth.json"));
  const stored = entriesOf(auth).flatMap(([provider, entry]) =>
    textsOf(entry, isStoredSecret).map((value) => ({ name: `key of ${provider}`, value })),
  );
  const models = textsOf(jsonFile(join(home, "models.json")), ({ field, above }, value) =>
    above === "headers"
      ? secretField.test(field) || !isPlace(value)
      : secretField.test(field) && field !== "apiKeyEnv",
  );
  // A header can have a word before the key.
  const headers = models.flatMap((text) => [text, ...text.split(/\s+/).slice(1)]);
  return [...stored, ...headers.map((value) => ({ name: "key of models.json", value }))];
}

function isStoredSecret({ field }: Place, value: string): boolean {
  return field !== "type" && (secretField.test(field) || !isPlace(value));
}

/** An address or a path, where its name does not say otherwise: keys in base 64 have slashes as well. */
function isPlace(value: string): boolean {
  return /[/\\]/.test(value);
}

interface Place {
  field: string;
  /** The name of the object around it. */
  above: string;
}

const MOST_LEVELS = 20;

function textsOf(
  value: unknown,
  isSecret: (place: Place, value: string) => boolean,
  place: Place = { field: "", above: "" },
  level = 0,
): string[] {
  if (typeof value === "string") return isSecret(place, value) ? [value.trim()] : [];
  if (level > MOST_LEVELS) return [];
  return entriesOf(value).flatMap(([name, inner]) => {
    const field = Array.isArray(value) ? place.field : name;
    const above = Array.isArray(value) ? place.above : place.field;
    return textsOf(inner, isSecret, { field, above }, level + 1);
  });
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function jsonFile(path: string): unknown {
  try {
    return JSON.parse(textFile(path) ?? "null");
  } catch {
    // Whoever needs a key of it says what is wrong with the file.
    return undefined;
  }
}
