import {
  beginnings,
  isMixed,
  isSecretName,
  MAX_NAME_CHARS,
  MIN_SECRET_CHARS,
  MIN_WORD_CHARS,
  RULE_GROUPS,
  type Rule,
} from "./secret-rules.ts";
import { jsonText, MAX_LEVELS, withoutTerminalControls } from "./text.ts";

export interface RedactOptions {
  /** Keys that are stored somewhere: they are redacted whatever they look like. Default: none. */
  known?: readonly string[] | undefined;
  /** A key that was shortened or masked counts too, as providers repeat it: `sk-ab***yz`. Default: false. */
  isStrict?: boolean | undefined;
}

/** Replaces each secret by `[redacted: kind]`: by its form, or by the name before it. */
export function redactSecrets(text: string, { known = [], isStrict = false }: RedactOptions = {}): string {
  const filter = new SecretFilter(known);
  const redacted = filter.text(text);
  if (!isStrict) return redacted;
  return redacted.replaceAll(SHORTENED, masked("API key")).replaceAll(AFTER_SCHEME, masked("authorization"));
}

/** Maximum number of values that are remembered because of their names: each is looked for in every text. */
const MAX_LEARNED = 200;
const MAX_LEARNING_CHARS = 16_000_000;

/**
 * Redacts the texts of one document or session. It knows the stored keys. Once the name of a field shows that its value is
 * a secret, it redacts that value in all later texts.
 */
export class SecretFilter {
  static readonly #filters = new WeakMap<object, SecretFilter>();

  /** The filter of a session or document, with the values that their names gave away. It lives as long as the document. */
  static of(document: object): SecretFilter {
    const filter = SecretFilter.#filters.get(document) ?? new SecretFilter();
    SecretFilter.#filters.set(document, filter);
    return filter;
  }

  /** Number of secrets redacted so far. */
  count = 0;
  readonly #known: readonly string[];
  readonly #isOn: boolean;
  #learned: string[] = [];
  #readChars = 0;

  /**
   * @param known keys that are stored somewhere: they are redacted whatever they look like. Default: none
   * @param isOn false: it returns everything as it is. Default: true
   */
  constructor(known: readonly string[] = [], isOn = true) {
    this.#known = longestFirst(known.map((secret) => secret.trim()));
    this.#isOn = isOn;
  }

  text(text: string): string {
    if (!this.#isOn) return text;
    const redacted = this.#redacted(text);
    if (redacted !== text || !HIDDEN.test(text)) return redacted;
    // Markdown writes `sk\_…` for a key, and a terminal colours a part of it.
    const plain = withoutTerminalControls(text).replaceAll(/\\([_-])/g, "$1");
    const redactedPlain = this.#redacted(plain);
    return redactedPlain === plain ? text : redactedPlain;
  }

  /** The value of a field: its name alone can make it a secret. */
  field(name: string, value: string): string {
    if (!this.#isOn) return value;
    const redacted = this.text(value);
    if (redacted !== value || !isSecretName(name)) return redacted;
    const before = this.count;
    this.#redacted(`${name}="${value.replaceAll('"', "'")}"`);
    if (this.count === before) return value;
    this.#learn(value);
    return masked("secret");
  }

  /**
   * Plain data with all its texts redacted; the same object if it has no secret.
   * @param name of the field that contains it
   */
  value<Value>(value: Value, name = ""): Value {
    return this.#isOn ? (this.#value(value, name, 0) as Value) : value;
  }

  /** Remembers the values whose names give them away, without redacting anything. Reads at most 16 million characters. */
  learn(values: Iterable<unknown>): void {
    const { count } = this;
    const until = this.#readChars + MAX_LEARNING_CHARS;
    for (const value of values) {
      this.value(value);
      if (this.#readChars > until) break;
    }
    this.count = count;
  }

  /** Several values of one document: a later one can give away a secret of an earlier one. */
  values<Value>(values: readonly Value[]): Value[] {
    const learned = this.#learned;
    const once = values.map((each) => this.value(each));
    return learned === this.#learned ? once : once.map((each) => this.value(each));
  }

  #redacted(text: string): string {
    this.#readChars += text.length;
    // Most texts of a message are short words: names of its fields, and its role.
    if (text.length < MIN_SECRET_CHARS && /^\w*$/.test(text)) return text;
    let redacted = this.#without(text, this.#known, "stored key");
    for (const { hint, rules } of RULE_GROUPS)
      if (hint.test(redacted)) for (const rule of rules) redacted = this.#apply(rule, redacted);
    return this.#without(redacted, this.#learned, "secret");
  }

  #apply({ kind, pattern, secretOf }: Rule, text: string): string {
    return text.replaceAll(pattern, (match: string, ...rest: unknown[]) => {
      if (secretOf === undefined) {
        this.count += 1;
        return masked(kind);
      }
      const { before = "", value = "" } = rest.at(-1) as Record<string, string | undefined>;
      const [at, whole] = rest.slice(-3, -1) as [number, string];
      const context = whole.slice(Math.max(0, at - MAX_NAME_CHARS), at) + before;
      const secret = secretOf(value, context, whole.charAt(at + match.length));
      if (secret === undefined) return match;
      this.#learn(secret);
      this.count += 1;
      return `${before}${masked(kind)}${match.slice(before.length + secret.length)}`;
    });
  }

  #without(text: string, secrets: readonly string[], kind: string): string {
    let redacted = text;
    for (const secret of secrets) {
      const parts = redacted.split(secret);
      this.count += parts.length - 1;
      if (parts.length > 1) redacted = parts.join(masked(kind));
    }
    return redacted;
  }

  /** Ordinary words stay where they are. */
  #learn(value: string): void {
    const isRare = value.length >= (isMixed(value) ? MIN_SECRET_CHARS : MIN_WORD_CHARS);
    if (!isRare || this.#learned.length >= MAX_LEARNED || this.#learned.includes(value)) return;
    this.#learned = longestFirst([...this.#learned, value]);
  }

  #value(value: unknown, name: string, level: number): unknown {
    if (typeof value === "string") return this.field(name, value);
    if (typeof value !== "object" || value === null) return value;
    // Deeper data is shown as text, if at all.
    if (level > MAX_LEVELS) return this.text(jsonText(value));
    if (Array.isArray(value)) {
      const items = value.map((each) => this.#value(each, name, level + 1));
      return items.some((each, at) => each !== value[at]) ? items : value;
    }
    return this.#fields(value as Record<string, unknown>, name, level + 1);
  }

  #fields(value: Record<string, unknown>, name: string, level: number): unknown {
    // Lists of settings name a value beside it: {"name": "API_KEY", "value": "…"}.
    const beside = [value.name, value.key].find((each) => typeof each === "string") ?? name;
    const isImage = typeof value.mimeType === "string" && BASE64.test(String(value.data));
    const fields = Object.entries(value);
    let isSame = true;
    for (const field of fields) {
      const [key, each] = field;
      if (isImage && key === "data") continue;
      const isNamedBeside = key === "value" || key === "default" || /^\d+$/.test(key);
      field[0] = this.text(key);
      field[1] = this.#value(each, isNamedBeside ? String(beside) : key, level);
      isSame &&= field[0] === key && field[1] === each;
    }
    return isSame ? value : Object.fromEntries(fields);
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are searched for
const HIDDEN = /\\[_-]|[\u001b\u009b]/;

function masked(kind: string): string {
  return `[redacted: ${kind}]`;
}

/** The longest first: nothing remains of a secret that begins like another. */
function longestFirst(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
  return [...new Set(long)].sort((a, b) => b.length - a.length);
}

/** A key of an issuer that was shortened or is partly stars; ordinary names can begin like some of them. */
const SHORTENED = new RegExp(
  String.raw`\b(?:(?:${beginnings(false)})[\w*.-]{6,}|(?:${beginnings(true)})[\w.-]{0,40}\*[\w*.-]*)`,
  "g",
);
/** After a scheme, also in the brackets of a placeholder. */
const AFTER_SCHEME =
  /(?<=\bauthorization\\?["']?[:=] ?(?:bearer|basic) )[^\s"'`,;}>[]{4,}|(?<=\b(?:bearer|basic)\s["'`<]{0,2})(?:(?=[^\s>]{0,40}\d)[^\s"'`,;}>[]{6,}|[^\s"'`,;}>[]{16,})/gi;
