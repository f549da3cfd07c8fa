import { join } from "node:path";
import { parseJson, textFile } from "../json-file.ts";

/** A secret, and the name that replaces it. */
export interface NamedSecret {
  /** Shown instead of the value. */
  name: string;
  value: string;
}

const secretField = /key|token|secret|password|authorization|access|refresh|cookie|credential/i;

/**
 * Reads the secrets of Bonsai's files at each call: every text of `auth.json` (other programs store logins there too),
 * and the headers, keys and named variables of `models.json`. An unreadable file has none.
 */
export function knownSecrets(
  home: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): NamedSecret[] {
  const auth = jsonFile(join(home, "auth.json"));
  const stored = entriesOf(auth).flatMap(([provider, entry]) =>
    textsOf(entry, isStoredSecret).map((value) => ({ name: `key of ${provider}`, value })),
  );
  const file = jsonFile(join(home, "models.json"));
  const named = textsOf(file, ({ field, above }) => /^apiKey(?:Env)?$/i.test(field) || above === "headers");
  const variables = named.flatMap((text) =>
    [text, ...Array.from(text.matchAll(/\$\{?(\w+)/g), ([, name]) => name!)].flatMap((name) => {
      const value = env[name]?.trim();
      return value ? [{ name, value }] : [];
    }),
  );
  const models = literalKeys(file);
  // A header may have a word before the key.
  const headers = models.flatMap((text) => [text, ...text.split(/\s+/).slice(1)]);
  return [...stored, ...variables, ...headers.map((value) => ({ name: "key of models.json", value }))];
}

/** True if `models.json` contains keys, not only the names of their variables. */
export function hasLiteralKeys(home: string): boolean {
  return literalKeys(jsonFile(join(home, "models.json"))).some(
    (key) => !/^[A-Z_][A-Z0-9_]*$|^[!$]/.test(key),
  );
}

function literalKeys(models: unknown): string[] {
  return textsOf(models, ({ field, above }, value) =>
    above === "headers"
      ? secretField.test(field) || !isPlace(value)
      : secretField.test(field) && field !== "apiKeyEnv" && !(field === "apiKey" && isPlaceholder(value)),
  );
}

function isStoredSecret({ field }: Place, value: string): boolean {
  return field !== "type" && (secretField.test(field) || !isPlace(value));
}

/** True for a variable, a command, or a word for servers without keys, such as `ollama`. Masking would hide plain words. */
export function isPlaceholder(value: string): boolean {
  return /^[$!]|^[A-Z][A-Z0-9_]*$/.test(value) || (/^[a-z-]*$/i.test(value) && value.length < 20);
}

/** True for an address or a path. A key in base 64 has slashes too, so check the name of the field first. */
function isPlace(value: string): boolean {
  return /[/\\]/.test(value);
}

interface Place {
  field: string;
  /** The name of the parent object. */
  above: string;
}

const MAX_DEPTH = 20;

function textsOf(
  value: unknown,
  isSecret: (place: Place, value: string) => boolean,
  place: Place = { field: "", above: "" },
  level = 0,
): string[] {
  if (typeof value === "string") return isSecret(place, value) ? [value.trim()] : [];
  if (level > MAX_DEPTH) return [];
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
    return parseJson(textFile(path) ?? "null");
  } catch {
    // The error for a missing key reports the file.
    return undefined;
  }
}
