import { secretShapes } from "./secret-shapes.ts";
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

/** True for the name of a variable, a field or a header whose value is a secret. */
export function isSecretName(name: string): boolean {
  const bare = name.replaceAll(/^[-_]+|[-_\d]+$/g, "");
  if (!SECRET_WORD.test(bare) || ABOUT_A_SECRET.test(bare)) return false;
  // A count of tokens is no secret.
  return !/token/i.test(bare) || /token(?:[-_][A-Z]+)?$|secret|passw|key/i.test(bare);
}

/** A text without the marks that `redactSecrets` leaves. */
export function withoutRedactionMarks(text: string): string {
  return text.replaceAll(/\[redacted: [a-zA-Z ]+\]/g, "");
}

/** Shorter values occur in too many words. */
const MIN_SECRET_CHARS = 8;
/** A value without digits is looked for elsewhere only from this length on. */
const MIN_WORD_CHARS = 16;
/** Maximum number of values that are remembered because of their names: each is looked for in every text. */
const MAX_LEARNED = 200;
const MAX_LEARNING_CHARS = 16_000_000;

/**
 * Redacts the texts of one document or session. It knows the stored keys. A value that its name gave away once is redacted
 * from then on wherever else it occurs.
 */
export class SecretFilter {
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
    let redacted = this.#without(text, this.#known, "stored key");
    if (HINT.test(redacted)) for (const rule of RULES) redacted = this.#apply(rule, redacted);
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
    const before = Object.entries(value);
    const after = before.map(([key, each]) => {
      if ((isImage && key === "data") || typeof each === "number" || typeof each === "boolean")
        return [key, each] as const;
      const isNamedBeside = key === "value" || key === "default" || /^\d+$/.test(key);
      return [this.text(key), this.#value(each, isNamedBeside ? String(beside) : key, level)] as const;
    });
    const isSame = after.every(([key, each], at) => key === before[at]![0] && each === before[at]![1]);
    return isSame ? value : Object.fromEntries(after);
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MAX_NAME_CHARS = 99;
const filters = new WeakMap<object, SecretFilter>();

/** The filter of a session or document. It remembers the values that their names gave away, for as long as that exists. */
export function secretsOf(document: object): SecretFilter {
  const filter = filters.get(document) ?? new SecretFilter();
  filters.set(document, filter);
  return filter;
}

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

function beginnings(isCommon: boolean): string {
  const shapes = secretShapes.filter(({ isCommonBeginning = false }) => isCommonBeginning === isCommon);
  return shapes.flatMap(({ beginning = [] }) => beginning).join("|");
}

/** A key of an issuer that was shortened or is partly stars; ordinary names can begin like some of them. */
const SHORTENED = new RegExp(
  String.raw`\b(?:(?:${beginnings(false)})[\w*.-]{6,}|(?:${beginnings(true)})[\w.-]{0,40}\*[\w*.-]*)`,
  "g",
);
/** After a scheme, also in the brackets of a placeholder. */
const AFTER_SCHEME =
  /(?<=\bauthorization\\?["']?[:=] ?(?:bearer|basic) )[^\s"'`,;}>[]{4,}|(?<=\b(?:bearer|basic)\s["'`<]{0,2})(?:(?=[^\s>]{0,40}\d)[^\s"'`,;}>[]{6,}|[^\s"'`,;}>[]{16,})/gi;

/** What the name of a secret contains. */
const WORDS =
  "secret|passw(?:or)?[dt]|passphrase|passcode|[-_]pass(?![a-z])|[-_]pwd|(?:api|access|private|client|signing|encryption|master|auth)[-_]?key|credential|token|_auth(?![a-z])|contraseña|密码|密碼|パスワード|пароль";
const SECRET_WORD = new RegExp(WORDS, "i");
/** Ends of names that describe a secret: `token_type`, `passwordPolicy`, `secretName`. */
const ABOUT_A_SECRET =
  /(?:[-_]|(?<=[a-z]))(?:names?|ids?|type|kind|file|path|dir|ur[li]|env|header|prefix|suffix|length|count|limit|budget|size|min|max|policy|rules?|field|label|hint|placeholder|prompt|message|error|version|format|pattern|schema|ttl|expir\w{0,9}|expires[-_]?(?:in|at)|ref|arn|host|provider|source|manager|store|service|endpoint|algorithm|required|enabled|usage|rate)$/i;
/** A text without any of it has no secret. */
const HINT = new RegExp(
  `${beginnings(false)}|${beginnings(true)}|${WORDS}|_KEY|-----(?:BEGIN|END)|hooks\\.slack|authorization|cookie|bearer|basic|@|[?&]|-u`,
  "i",
);

interface Rule {
  kind: string;
  /** Its group `before` is the text before the value, its group `value` follows. */
  pattern: RegExp;
  /** The part of the value, from its beginning, that is the secret; undefined if none is. Default: the whole match. */
  secretOf?: (value: string, before: string, next: string) => string | undefined;
}

/** How a value is written after its name. */
type Notation = "line" | "quoted" | "bare" | "prose";

/** From the word on; a callback finds the beginning of the name. */
const NAME = String.raw`(?:${WORDS}|_KEY(?!\w))[\p{L}\d_-]{0,60}`;

function named(notation: Notation, pattern: string): Rule {
  const secretOf: Rule["secretOf"] = (value, before, next) => namedSecret({ notation, value, before, next });
  return { kind: "secret", pattern: new RegExp(pattern, "gimu"), secretOf };
}

/**
 * Secrets by their own form, or by the text before them.
 *
 * Invariant: time is linear. A pattern takes what it walks over, or nothing can begin within it, or it is bounded.
 */
const RULES: readonly Rule[] = [
  ...secretShapes.map(({ kind, pattern }) => ({ kind, pattern })),
  {
    kind: "authorization",
    pattern: /\b(?<before>(?:Bearer|Basic)\s+["'`]?)(?!(?:Bearer|Basic|HTTP)\b)(?<value>[^\s"'`,;}]+)/gi,
    secretOf: (value) => {
      const token = /^[A-Za-z0-9._~+/=-]{8,}/.exec(value)?.[0] ?? "";
      return isMixed(token) && !isPlaceholder(token) ? token : undefined;
    },
  },
  {
    kind: "authorization",
    pattern:
      /(?<before>\bauthorization\\?["']?[ \t]{0,9}[:=][ \t]{0,9}\\?["'`]?(?:[A-Za-z-]{3,20} {1,9})?)(?<value>[^\s"'`,;}\\]{8,4000})/gi,
    secretOf: (value) =>
      isPlaceholder(value) || !(isMixed(value) || isMixedCase(value)) ? undefined : value,
  },
  {
    kind: "cookie",
    pattern:
      /(?<before>\bcookie\\?["']?[ \t]{0,9}[:=][ \t]{0,9}\\?["'`]?[\w.-]{1,99}=)(?<value>[^\n"'`\\]{4,4000})/gi,
    secretOf: (value) => (isPlaceholder(value) ? undefined : value),
  },
  {
    kind: "password",
    pattern: /(?<before>:\/\/[^\s:@/"'`<>]{0,100}:)(?<value>[^\s/"'`<>]{1,200})(?=@)/g,
    secretOf: (value) => (isPlaceholder(value) || isWordForSecret(value) ? undefined : value),
  },
  {
    kind: "token",
    pattern: /(?<before>:\/\/)(?<value>[\w-]{16,200})(?=@)/g,
    secretOf: (value) => (isMixed(value) ? value : undefined),
  },
  {
    kind: "secret",
    pattern:
      /(?<before>[?&](?:[\w.-]{0,40}(?:key|token|secret|passw(?:or)?d|pwd|credential|signature)|sig|auth)=)(?<value>[^\s&#"'`<>\\)\]]{6,4000})/gi,
    secretOf: (value) =>
      !isPlaceholder(value) && (isMixed(value) || value.length >= MIN_WORD_CHARS) ? value : undefined,
  },
  {
    kind: "password",
    pattern: /(?<before>(?<!\S)(?:-u|--user)[= ]["']?[^\s:"'@/]{1,64}:)(?<value>[^\s"'@/]{4,200})/g,
    secretOf: (value) => (isMixed(value) && !isPlaceholder(value) ? value : undefined),
  },
  {
    kind: "password",
    pattern: /(?<before>\blogin[ \t]\S{1,100}\s{1,9}password[ \t])(?<value>\S{4,200})/g,
    secretOf: (value) => (isPlaceholder(value) ? undefined : value),
  },
  // `NAME=value`, `export NAME=value`, `name: value`: the value ends with its line. The line can be part of a patch.
  named(
    "line",
    String.raw`(?<before>^[ \t]{0,40}(?:[-+>|][ \t]{0,9}|\d{1,6}[ \t]{0,9}[|:→\t][ \t]{0,9})?(?:(?:export|set|declare -x|ENV|ARG)[ \t]{1,9})?(?:(?!${WORDS}|_KEY)[\w./:@-]){0,99}${NAME}(?:=|:[ \t]{1,9}(?=\S{1,4000}$)))(?<value>(?!["'\x60])\S{4,4000})`,
  ),
  named(
    "quoted",
    String.raw`(?<before>${NAME}(?:\\?["']?\]?\s{0,9}(?::=|=>|[:=：])\s{0,9}|["'],\s{0,9}(?=\S{0,9}\d))\\?(?<quote>["'\x60]))(?<value>(?:(?!\k<quote>)[^\s\\]|\\[^\s"'\x60n]){4,4000})(?=\\?\k<quote>)`,
  ),
  named(
    "bare",
    String.raw`(?<before>${NAME}(?:\\?["']?\s{0,9}(?::=|=>|[:=：])\s{0,9}|>(?=[^\s<]{4,200}</)))(?<value>[^\s"'\x60,;()<>{}[\]|\\]{4,4000})`,
  ),
  named(
    "prose",
    String.raw`(?<before>(?:\b(?:password|passphrase|passcode|secret|token|(?:api|access|private|secret) key)(?:\s{1,9}(?:is|ist|es|est)\s{1,9}|\s{0,9}[:=]\s{0,9})|(?<![\w-])--(?:[\w-]{0,40}-)?(?:password|passphrase|secret|token|(?:api|access|secret)-?key)[= ]|(?:密码|密碼|パスワード)\s{0,9}(?:是|は|[:：])\s{0,9})["'\x60]?)(?<value>[^\s"'\x60,;()<>{}|\\]{6,4000})`,
  ),
];

/** The last name, without the escaped line end before it. */
const NAME_AT_END = /(?:\\[nrt])?([\p{L}\d_-]*[\p{L}\d_])(?=[^\p{L}\d_-]*$)/u;

/** What follows a value without a space. */
const ENDS: Record<Notation, RegExp> = {
  line: /["'`][,;)}\]]{0,3}$/,
  quoted: /$^/,
  bare: /[.:]+$/,
  prose: /[.?!:]+$/,
};

interface NamedValue {
  notation: Notation;
  value: string;
  /** Ends with the name and the separator. */
  before: string;
  /** The character after the value. */
  next: string;
}

/** The value without its punctuation, if its name and its look make it a secret. */
function namedSecret({ notation, value, before, next }: NamedValue): string | undefined {
  const bare = value.replace(ENDS[notation], "");
  if (next === "(" || isPlaceholder(bare) || isCode(bare) || TYPE_WORD.test(bare)) return undefined;
  const [, name = ""] = NAME_AT_END.exec(before.slice(-2 * MAX_NAME_CHARS)) ?? [];
  const isConstant = /[A-Z]/.test(name) && !/[a-z]/.test(name);
  const isSaid = notation === "prose" || isSecretName(name);
  if (!isSaid) return isConstant && bare.length >= MIN_WORD_CHARS && isMixed(bare) ? bare : undefined;
  const isPassword = /pass|pwd|密|パス|пароль|contra/i.test(notation === "prose" ? before : name);
  const isAssigned = notation === "quoted" || (notation === "line" && before.endsWith("="));
  const isSecret = isMixed(bare)
    ? bare.length >= (isPassword || isConstant ? 6 : MIN_SECRET_CHARS) &&
      (isPassword || isConstant || isAssigned || !isNameInCode(bare))
    : notation !== "prose" && isPhrase(bare, { notation, name, before, isConstant, isPassword });
  return isSecret ? bare : undefined;
}

interface PhraseAt {
  notation: Notation;
  name: string;
  before: string;
  isConstant: boolean;
  isPassword: boolean;
}

/** A secret without digits, or of digits alone, is told by the way it is written. */
function isPhrase(value: string, { notation, name, before, isConstant, isPassword }: PhraseAt): boolean {
  if (isWordForSecret(value)) return false;
  if (!/(?:secret|passw(?:or)?[dt]|passphrase|passcode|pass|pwd|token|key)[-_\d]*$/i.test(name)) return false;
  if (/^\d+$/.test(value)) return isPassword;
  if (value.length < 6) return false;
  if (notation === "quoted" || (isConstant && /[=:]$/.test(before.trimEnd()) && notation === "line"))
    return true;
  if (isConstant && before.endsWith("=")) return true;
  // In a file of settings; code ends its lines with a comma or a semicolon, and names what it assigns.
  if (notation === "line" && isPassword && before.endsWith("="))
    return !/[,;]$/.test(value) && !SECRET_WORD.test(value);
  return value.length >= MIN_SECRET_CHARS && /[A-Za-z][-!@#%^&*+~][A-Za-z]/.test(value);
}

function isMixed(value: string): boolean {
  return /\d/.test(value) && /[A-Za-z]/.test(value);
}

function isMixedCase(value: string): boolean {
  return /[a-z]/.test(value) && /[A-Z]/.test(value);
}

/** `$TOKEN`, `<your-key>`, `%KEY%`, `{{ key }}`, `***`, `process.env.KEY`, `your-api-key-1`, and our own marks. */
function isPlaceholder(value: string): boolean {
  return /^(?:[$%<>{[*=&.…:^]|\/\^|process\.|import\.|env[.[]|os\.|your|x{3,}|(.)\1*$)/i.test(value);
}

/** The word for a secret instead of one: `user:password@`. */
function isWordForSecret(value: string): boolean {
  return /^(?:my[-_]?)?(?:user|pass(?:w(?:or)?d)?|pwd|secret|token|(?:api[-_]?)?key|changeme)$/i.test(value);
}

const TYPE_WORD =
  /^(?:string|number|boolean|undefined|required|optional|object|null|none|true|false|any|unknown|never|bytes|(?:u?int|float|utf|base|big(?:u?int)?)-?\d+\w*)\b/i;

/** A path through objects, or a call. */
function isCode(value: string): boolean {
  return /^[A-Za-z_$][\w$]*(?:(?:\?*\.[A-Za-z_$][\w$]*){1,9}[,;]?|[\w$.]*\((?:.*\)[,;]?)?)$|^(?:new|await|typeof)$/.test(
    value,
  );
}

/** Letters with at most one number in them: `base64Secret`. */
function isNameInCode(value: string): boolean {
  return value.length < 24 && /^[A-Za-z_$]+\d{0,4}[A-Za-z_$]*[,;]?$/.test(value);
}
