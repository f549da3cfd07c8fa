import { authorizationPattern, secretShapes } from "@bonsai-agent/messages";

/** A text without its secrets, and how many there were. */
export interface FilteredText {
  text: string;
  count: number;
}

/** Shorter ones stand in too many words. */
const LEAST_SECRET_CHARS = 8;
/** So many values are remembered that only their names told: each is looked for in every text. */
const MOST_LEARNED = 100;

/**
 * Takes secrets out of the texts of one document: keys that are stored; what has the form of a key; and what its name makes
 * one, which is taken out wherever else it stands from then on, as in an index of terms or a summary.
 */
export class SecretFilter {
  readonly #known: readonly string[];
  #learned: string[] = [];

  /** @param known keys that are stored, which are taken out whatever they look like. Default: none */
  constructor(known: readonly string[] = []) {
    this.#known = longestFirst(known.map((secret) => secret.trim()));
  }

  text(text: string): FilteredText {
    const said = without(text, this.#known, "stored key");
    const found = redactSecrets(said.text, (value) => this.#learn(value));
    const learned = without(found.text, this.#learned, "secret");
    const count = said.count + found.count + learned.count;
    // What stands in Markdown as `sk\\_…` reads as a key.
    if (count > 0 || !ESCAPED.test(text)) return { text: learned.text, count };
    const plain = redactSecrets(text.replace(ESCAPED, "$1"));
    return plain.count > 0 ? plain : { text, count };
  }

  /** What is a secret by its name alone, where the name stands apart from it. */
  field(name: string, value: string): FilteredText {
    const found = this.text(value);
    if (found.count > 0 || !NAMES.test(name)) return found;
    const { count } = redactSecrets(`${name}="${value}"`, () => this.#learn(value));
    return count === 0 ? found : { text: "[redacted: secret]", count };
  }

  /** Words that a text may hold otherwise are not taken out of it. */
  #learn(value: string): void {
    if (value.length < LEAST_SECRET_CHARS || !looksRandom(value)) return;
    if (this.#learned.length >= MOST_LEARNED || this.#learned.includes(value)) return;
    this.#learned = longestFirst([...this.#learned, value]);
  }
}

/** What the name of a secret holds; whether it is one is looked at with its value. */
const NAMES = /key|secret|pass|token/i;
const ESCAPED = /\\([_-])/g;

/** In the order in which they are looked for: of two of which one begins with the other, nothing stays then. */
function longestFirst(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= LEAST_SECRET_CHARS);
  return [...new Set(long)].sort((a, b) => b.length - a.length);
}

function without(text: string, secrets: readonly string[], kind: string): FilteredText {
  let said = text;
  let count = 0;
  for (const secret of secrets) {
    const parts = said.split(secret);
    count += parts.length - 1;
    said = parts.join(`[redacted: ${kind}]`);
  }
  return { text: said, count };
}

interface SecretPattern {
  name: string;
  pattern: RegExp;
  /** What of the match stays; default: nothing. Undefined where it is no secret. */
  keep?: (match: FoundMatch) => SecretKept | undefined;
}

interface SecretKept {
  before: string;
  after?: string;
}

interface FoundMatch {
  text: string;
  groups: string[];
  /** The character after the match; empty at the end. */
  next: string;
}

/**
 * Secrets by their own form, or by the name that stands before them.
 *
 * Invariant: time is linear. What a pattern walks over, it takes, or nothing can begin within it.
 */
const PATTERNS: readonly SecretPattern[] = [
  ...secretShapes.map(({ kind, pattern }) => ({ name: kind, pattern })),
  {
    name: "authorization",
    pattern: authorizationPattern,
    keep: authorization,
  },
  {
    name: "password",
    pattern: /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/]{0,100}:)([^\s:@/]{3,200})(@)/gi,
    keep: ({ groups: [before = "", , after = ""] }) => ({ before, after }),
  },
  {
    name: "secret",
    // The name is looked at once for each word, from its beginning.
    pattern:
      /(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*(?:api[-_]?key|secret|passw(?:or)?d|passphrase|access[-_]?key|private[-_]?key|auth[-_]?token|access[-_]?token|refresh[-_]?token|[-_]token|token\b))([A-Za-z0-9_-]+)(\\?["']?\s*[:=]\s*)(\\?["']?)([A-Za-z0-9+/_=.~!@#$%^&*-]{6,})/gi,
    keep: namedSecret,
  },
];

function authorization({ groups: [before = "", value = ""] }: FoundMatch): SecretKept | undefined {
  const token = /^[A-Za-z0-9._~+/=-]{16,}/.exec(value)?.[0];
  if (token === undefined || !looksRandom(token)) return undefined;
  return { before, after: value.slice(token.length) };
}

function namedSecret({ groups, next }: FoundMatch): SecretKept | undefined {
  const [name = "", separator = "", quote = "", value = ""] = groups;
  if (!isSecretName(name) || next === "(") return undefined;
  const isSecret = (value.length >= 8 && looksRandom(value)) || isPhrase({ name, separator, quote, value });
  return isSecret ? { before: `${name}${separator}${quote}` } : undefined;
}

/** `token` alone, or last in a name; a count of tokens is none. */
function isSecretName(name: string): boolean {
  return !/token/i.test(name) || /token$/i.test(name) || /secret|passw|key/i.test(name);
}

/** What a password of words looks like, by the way that it is written down: `DB_PASSWORD=a-b-c`, `"a-b-c"`. */
function isPhrase(found: { name: string; separator: string; quote: string; value: string }): boolean {
  const { name, separator, quote, value } = found;
  if (!/(?:secret|passw(?:or)?d|passphrase|token)\\?["']?$/i.test(name)) return false;
  if (
    /^(?:[$%=*&<]|process\.|env\.|os\.|string|number|boolean|undefined|required|optional|object|\.)/i.test(
      value,
    )
  )
    return false;
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[,;]?$/.test(value)) return false;
  if (quote !== "") return true;
  // A line that was taken out of a file begins with a sign that looks like a part of the name.
  if (/^-?[A-Z0-9_]+$/.test(name) && separator === "=") return true;
  return value.length >= 8 && /[A-Za-z][-!@#%^&*+~]\w/.test(value);
}

/** Digits among letters, and no call, path or placeholder: names of variables and types are not secrets. */
function looksRandom(value: string): boolean {
  return /\d/.test(value) && /[A-Za-z]/.test(value) && !/^(?:process\.|\$|env\.|\*+$)/.test(value);
}

/**
 * Replaces secrets by `[redacted: kind]`; says how many there were.
 * @param onNamed is told what only its name, or what stands before it, makes a secret
 */
export function redactSecrets(text: string, onNamed: (value: string) => void = () => {}): FilteredText {
  let count = 0;
  let redacted = text;
  for (const { name, pattern, keep } of PATTERNS) {
    redacted = redacted.replace(pattern, (match: string, ...rest: unknown[]) => {
      const groups = rest.filter((group) => typeof group === "string").slice(0, -1);
      const [offset, whole] = rest.slice(-2) as [number, string];
      const next = whole.charAt(offset + match.length);
      const kept = keep === undefined ? { before: "" } : keep({ text: match, groups, next });
      if (kept === undefined) return match;
      const { before, after = "" } = kept;
      if (keep !== undefined) onNamed(match.slice(before.length, match.length - after.length));
      count += 1;
      return `${before}[redacted: ${name}]${after}`;
    });
  }
  return { text: redacted, count };
}
