import { isSecretName } from "@bonsai-agent/messages/host";

/** A secret, and the name that replaces it. */
export interface NamedSecret {
  name: string;
  value: string;
}

/** Deeper data cannot be stored. */
const MAX_LEVELS = 200;
/** A shorter value may be a common word. */
const MIN_KEY_CHARS = 16;
/** Minimum for a value with letters and digits. */
const MIN_MIXED_KEY_CHARS = 8;

/** The variables with names of keys, except for paths: they name a file of keys. */
export function environmentKeys(env: NodeJS.ProcessEnv): NamedSecret[] {
  return Object.entries(env).flatMap(([name, value = ""]) =>
    isSecretName(name) && !/[/\\]/.test(value) ? [{ name, value }] : [],
  );
}

/**
 * Replaces each key by its name. Commands inherit the keys of the environment, because tests need them, and can read files
 * of keys, but their output is stored and sent to a provider. This prevents accidents only: a command can print a key in
 * other forms.
 */
export function maskKeys(secrets: readonly NamedSecret[]): (text: string) => string {
  const keys = maskable(secrets);
  return (text) => keys.reduce((masked, { name, value }) => masked.replaceAll(value, `[${name}]`), text);
}

/** Masks all texts in plain data, except below the depth that can be stored. Returns the same object if nothing changed. */
export function maskedWithin(
  value: unknown,
  mask: (text: string) => string,
  seen: Map<object, unknown> = new Map(),
  level = 0,
): unknown {
  if (typeof value === "string") return mask(value);
  if (typeof value !== "object" || value === null || level > MAX_LEVELS) return value;
  if (seen.has(value)) return seen.get(value);
  // Data can contain itself.
  seen.set(value, value);
  const masked = withMaskedFields(value, (each) => maskedWithin(each, mask, seen, level + 1));
  seen.set(value, masked);
  return masked;
}

function withMaskedFields(value: object, masked: (each: unknown) => unknown): unknown {
  if (Array.isArray(value)) {
    const all = value.map(masked);
    return all.some((each, at) => each !== value[at]) ? all : value;
  }
  const isData = Object.values(Object.getOwnPropertyDescriptors(value)).every(({ get }) => get === undefined);
  if (Object.getPrototypeOf(value) !== Object.prototype || !isData) return value;
  const before = Object.entries(value);
  const after = before.map(([name, each]) => [name, masked(each)] as const);
  return after.some(([, each], at) => each !== before[at]![1]) ? Object.fromEntries(after) : value;
}

/** Masks a text that comes in pieces: a key may begin in one piece and end in the next. */
export function maskedText(secrets: readonly NamedSecret[]): {
  /** Returns the text that cannot be the beginning of a key. */
  push(text: string): string;
  /** Returns the rest. */
  end(): string;
} {
  const mask = maskKeys(secrets);
  const keys = maskable(secrets);
  let held = "";
  return {
    push(text) {
      const all = held + text;
      const sure = all.length - Math.max(0, ...keys.map(({ value }) => begunAtEnd(all, value)));
      const end = Math.max(sure, ...keys.map(({ value }) => endAcross(all, value, sure)));
      held = all.slice(end);
      return mask(all.slice(0, end));
    },
    end() {
      const rest = held;
      held = "";
      return mask(rest);
    },
  };
}

function maskable(secrets: readonly NamedSecret[]): readonly NamedSecret[] {
  const keys = secrets.filter(({ value }) => {
    const isMixed = /\d/.test(value) && /[a-z]/i.test(value);
    return value.length >= (isMixed ? MIN_MIXED_KEY_CHARS : MIN_KEY_CHARS) && !/\s/.test(value);
  });
  // The longest first: one key can be the beginning of another.
  return keys.toSorted((a, b) => b.value.length - a.value.length);
}

/** Number of characters of a key at the end of a text. */
function begunAtEnd(text: string, key: string): number {
  for (let length = Math.min(key.length - 1, text.length); length > 0; length--)
    if (text.endsWith(key.slice(0, length))) return length;
  return 0;
}

/** End of the key that a cut at this place would divide; 0 if there is none. */
function endAcross(text: string, key: string, cut: number): number {
  const at = text.indexOf(key, Math.max(0, cut - key.length + 1));
  return at !== -1 && at < cut ? at + key.length : 0;
}
