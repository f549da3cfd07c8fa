import { authorizationPattern, secretShapes } from "@bonsai-agent/messages";
import { codeBlock, codeName, codeSpan, foreignMarkdown, htmlText, plainText } from "./markdown-text.ts";

/**
 * The one way into a document for what users, models, tools and files say: secrets are taken out first (afterwards that
 * could take away what ends a piece of code), then the text is made harmless for its place.
 */
export class OutsideText {
  #secrets = 0;
  readonly #known: readonly string[];

  /** @param known keys that are stored, which are taken out whatever they look like. Default: none */
  constructor(known: readonly string[] = []) {
    this.#known = longestFirst(known);
  }

  /** How many were taken out so far. */
  get secrets(): number {
    return this.#secrets;
  }

  /** Markdown; its titles stay as they are only where the document puts it into a quote. */
  markdown(value: unknown, headings: "own" | "below" = "below"): string {
    return foreignMarkdown(this.#redacted(value), headings);
  }

  /** A code block. */
  block(value: unknown, language?: string): string {
    return codeBlock(this.#redacted(value), language);
  }

  /** Inline code, cut after `maxChars`. */
  code(value: unknown, maxChars = Number.POSITIVE_INFINITY): string {
    const text = this.#redacted(value);
    return codeSpan(text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`);
  }

  /** Inline code in a table, or in a line that is set apart. */
  name(value: unknown): string {
    return codeName(this.#redacted(value));
  }

  /** One line that reads as it is. */
  plain(value: unknown): string {
    return plainText(this.#redacted(value));
  }

  /** Content that is folded away until somebody opens it, under a title of this text. */
  folded(title: unknown, body: string): string {
    return `<details>\n<summary>${htmlText(this.#redacted(title))}</summary>\n\n${body}\n\n</details>`;
  }

  #redacted(value: unknown): string {
    const { text, count } = redactSecrets(
      typeof value === "string" ? value : String(value ?? ""),
      this.#known,
    );
    this.#secrets += count;
    return text;
  }
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

/** Shorter ones stand in too many words. */
const LEAST_SECRET_CHARS = 8;

/** Known keys in the order in which they are looked for: of two of which one begins with the other, nothing stays then. */
export function longestFirst(known: readonly string[]): string[] {
  const long = known.filter((secret) => secret.length >= LEAST_SECRET_CHARS);
  return [...new Set(long)].sort((a, b) => b.length - a.length);
}

/**
 * Replaces secrets by `[redacted: kind]`; says how many there were.
 * @param known keys that are stored, as `longestFirst` orders them. Default: none
 */
export function redactSecrets(text: string, known: readonly string[] = []): { text: string; count: number } {
  let count = 0;
  let redacted = text;
  for (const secret of known) {
    const parts = redacted.split(secret);
    count += parts.length - 1;
    redacted = parts.join("[redacted: stored key]");
  }
  for (const { name, pattern, keep } of PATTERNS) {
    redacted = redacted.replace(pattern, (match: string, ...rest: unknown[]) => {
      const groups = rest.filter((group) => typeof group === "string").slice(0, -1);
      const [offset, whole] = rest.slice(-2) as [number, string];
      const next = whole.charAt(offset + match.length);
      const kept = keep === undefined ? { before: "" } : keep({ text: match, groups, next });
      if (kept === undefined) return match;
      count += 1;
      return `${kept.before}[redacted: ${name}]${kept.after ?? ""}`;
    });
  }
  return { text: redacted, count };
}
