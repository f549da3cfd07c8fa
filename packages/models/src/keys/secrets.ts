import { join } from "node:path";
import { parseJson, textFile } from "../json-file.ts";

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
 * the headers and keys of `models.json`, with the variables that it names. The files are read at each call, so a key that was just stored is among them;
 * one that cannot be read has none.
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
  // A key can be the name of a variable too.
  const named = textsOf(file, ({ field, above }) => /^apiKey(?:Env)?$/i.test(field) || above === "headers");
  const variables = named.flatMap((text) =>
    [text, ...Array.from(text.matchAll(/\$\{?(\w+)/g), ([, name]) => name!)].flatMap((name) => {
      const value = env[name]?.trim();
      return value ? [{ name, value }] : [];
    }),
  );
  const models = literalKeys(file);
  // A header can have a word before the key.
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

/** A variable, a command, or a word for servers without keys, such as `ollama`: masking it would hide plain words. */
export function isPlaceholder(value: string): boolean {
  return /^[$!]|^[A-Z][A-Z0-9_]*$/.test(value) || (/^[a-z-]*$/i.test(value) && value.length < 20);
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
    return parseJson(textFile(path) ?? "null");
  } catch {
    // Whoever needs a key of it says what is wrong with the file.
    return undefined;
  }
}
