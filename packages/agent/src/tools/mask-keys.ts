import { isSecretName, MAX_LEVELS } from "@bonsai-agent/messages/host";
import type { NamedSecret } from "@bonsai-agent/models/host";

/** A shorter value is a switch or a word, and stands in outputs for other reasons. */
const MIN_KEY_CHARS = 16;
/** The same for a value with letters and digits. */
const MIN_MIXED_KEY_CHARS = 8;

/** The variables whose names say that a key is in them; one that holds a path names a file of keys. */
export function environmentKeys(env: NodeJS.ProcessEnv): NamedSecret[] {
  return Object.entries(env).flatMap(([name, value = ""]) =>
    isSecretName(name) && !/[/\\]/.test(value) ? [{ name, value }] : [],
  );
}

/** Owner of an output that comes in pieces: a key is found also where one piece has its beginning and the next its end. */
interface MaskedText {
  /** Returns the text that cannot be the beginning of a key. */
  push(text: string): string;
  /** The rest. */
  end(): string;
}

/**
 * Puts its name in place of each key. Commands inherit the whole environment, for a project's tests need its keys as
 * well, and can read the files of keys; but what they print is stored and sent to a provider, whom other providers'
 * keys do not concern. It keeps from slips alone: a command can print a key in other forms.
 */
export function maskKeys(secrets: readonly NamedSecret[]): (text: string) => string {
  const keys = maskable(secrets);
  return (text) => keys.reduce((masked, { name, value }) => masked.replaceAll(value, `[${name}]`), text);
}

/**
 * Plain data with all its texts masked; what has no key in it is given back as it is. So is what is nested deeper than
 * can be stored: it is left out later.
 */
export function maskedWithin(
  value: unknown,
  mask: (text: string) => string,
  seen: Map<object, unknown> = new Map(),
  level = 0,
): unknown {
  if (typeof value === "string") return mask(value);
  if (typeof value !== "object" || value === null || level > MAX_LEVELS) return value;
  if (seen.has(value)) return seen.get(value);
  // For what is within itself.
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

export function maskedText(secrets: readonly NamedSecret[]): MaskedText {
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

/** With how many of its characters a key begins at the end of a text. */
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
