/** The name of a secret in a redaction. */
type SecretKind = "private key" | "API key" | "token" | "key" | "webhook";

/** The form of one issuer's secrets. */
interface SecretShape {
  readonly kind: SecretKind;
  /** Finds whole secrets anywhere; matches no words and names. Global. */
  readonly pattern: RegExp;
  /** Source of a pattern for the beginning, which finds shortened and masked secrets in strict mode. Default: none. */
  readonly beginning?: string;
  /** Ordinary names begin in the same way (`pk_orders`, `fw-update`). Default: false. */
  readonly isCommonBeginning?: boolean;
}

/** The bound keeps the time linear. No issuer's secrets have 99 characters without a digit. */
const A_DIGIT = String.raw`(?=[A-Za-z_-]{0,99}\d)`;
const A_DIGIT_IN_ONE_WORD = String.raw`(?=[A-Za-z]{0,99}\d)`;

function shape(
  kind: SecretKind,
  beginning: string,
  rest: string,
  { isCommonBeginning = false } = {},
): SecretShape {
  return { kind, pattern: new RegExp(String.raw`\b${beginning}${rest}`, "g"), beginning, isCommonBeginning };
}

const isCommonBeginning = true;

/**
 * Secrets by their own form, special forms first. Bare hexadecimal strings and UUIDs are no secrets: they name commits and
 * entries.
 *
 * Invariant: time is linear. Each pattern consumes the text it reads, or has a bound, or no match can begin inside it.
 */
export const secretShapes: readonly SecretShape[] = [
  {
    kind: "private key",
    pattern:
      /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN)[\s\S]){0,20000}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:Proc-Type|DEK-Info):[^\n]*|[A-Za-z0-9+/=\s\\])*)/g,
  },
  // A part of a file can begin inside a key.
  {
    kind: "private key",
    pattern: /(?<=^|\n)(?:[A-Za-z0-9+/=]{16,76}\r?\n){1,80}-----END [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  shape("API key", "sk-ant-", "[A-Za-z0-9_-]{20,}"),
  shape("API key", "sk-", `${A_DIGIT}[A-Za-z0-9_-]{20,}`),
  shape("API key", "AIza", "[0-9A-Za-z_-]{35,}"),
  shape("API key", "(?:gsk|xai|pplx|r8)[-_]", "[A-Za-z0-9]{30,}"),
  shape("API key", "nvapi[-_]", `${A_DIGIT}[A-Za-z0-9_-]{40,}`),
  shape("API key", "tgp[-_]", `${A_DIGIT}[A-Za-z0-9_-]{30,}`, { isCommonBeginning }),
  shape("API key", "(?:csk|fw)[-_]", `${A_DIGIT_IN_ONE_WORD}[A-Za-z0-9]{20,}`, { isCommonBeginning }),
  shape("token", "gh[a-z]_", "[A-Za-z0-9]{36,}"),
  shape("token", "github_pat_", "[A-Za-z0-9_]{22,}"),
  shape("token", "glpat-", "[A-Za-z0-9_-]{20,}"),
  shape("token", "xox[a-z]-", "[A-Za-z0-9-]{10,}"),
  shape("token", "npm_", "[A-Za-z0-9]{36,}"),
  shape("token", "pypi-", "[A-Za-z0-9_-]{50,}"),
  shape("token", "hf_", "[A-Za-z0-9]{30,}"),
  shape("token", "hf-", `${A_DIGIT_IN_ONE_WORD}[A-Za-z0-9]{30,}`, { isCommonBeginning }),
  shape("token", String.raw`ya29\.`, "[A-Za-z0-9_-]{20,}"),
  shape("token", String.raw`SG\.`, String.raw`[A-Za-z0-9_-]{22,}\.[A-Za-z0-9_-]{43,}`),
  {
    kind: "token",
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
    beginning: "eyJ",
  },
  shape("key", "(?:AKIA|ASIA)", String.raw`[A-Z0-9]{16}\b`),
  shape("key", "[spr]k_(?:live|test)_", "[A-Za-z0-9]{16,}"),
  shape("key", "(?:[spr]k_|[pr]k-)", `${A_DIGIT_IN_ONE_WORD}[A-Za-z0-9]{20,}`, { isCommonBeginning }),
  { kind: "webhook", pattern: /https:\/\/hooks\.slack\.com\/services\/[A-Za-z0-9/]{20,}/g },
];

/** Shorter values occur in too many words. */
export const MIN_SECRET_CHARS = 8;
/** Minimum length of a value without digits to be redacted elsewhere. */
export const MIN_WORD_CHARS = 16;
/** Maximum length of the name before a value. */
export const MAX_NAME_CHARS = 99;

/** Words in the names of secrets. */
const WORDS =
  "secret|passw(?:or)?[dt]|passphrase|passcode|[-_]pass(?![a-z])|[-_]pwd|(?:api|access|private|client|signing|encryption|master|auth)[-_]?key|credential|token|_auth(?![a-z])|contraseña|密码|密碼|パスワード|пароль";
const SECRET_WORD = new RegExp(WORDS, "i");
/** Ends of names that describe a secret: `token_type`, `passwordPolicy`, `secretName`. */
const ABOUT_A_SECRET =
  /(?:[-_]|(?<=[a-z]))(?:names?|ids?|type|kind|file|path|dir|ur[li]|env|header|prefix|suffix|length|count|limit|budget|size|min|max|policy|rules?|field|label|hint|placeholder|prompt|message|error|version|format|pattern|schema|ttl|expir\w{0,9}|expires[-_]?(?:in|at)|ref|arn|host|provider|source|manager|store|service|endpoint|algorithm|required|enabled|usage|rate)$/i;
/** True for the name of a variable, a field or a header whose value is a secret. */
export function isSecretName(name: string): boolean {
  const bare = name.replaceAll(/^[-_]+|[-_\d]+$/g, "");
  if (!SECRET_WORD.test(bare) || ABOUT_A_SECRET.test(bare)) return false;
  // A count of tokens is no secret.
  return !/token/i.test(bare) || /token(?:[-_][A-Z]+)?$|secret|passw|key/i.test(bare);
}

/** Alternatives of a pattern: the beginnings of issuers' keys. */
export function beginnings(isCommon: boolean): string {
  const shapes = secretShapes.filter(({ isCommonBeginning = false }) => isCommonBeginning === isCommon);
  return shapes.flatMap(({ beginning = [] }) => beginning).join("|");
}

/** Rules that find nothing in a text without a match of their hint, which takes less time than they do. */
interface RuleGroup {
  hint: RegExp;
  rules: readonly Rule[];
}

export interface Rule {
  kind: string;
  /** Group `before` is the text before the value; group `value` follows. */
  pattern: RegExp;
  /** Returns the secret at the beginning of the value; undefined if there is none. Default: the whole match. */
  secretOf?: (value: string, before: string, next: string) => string | undefined;
}

/** The notation of a value after its name. */
type Notation = "line" | "quoted" | "bare" | "prose";

/** The end of a name, from its secret word on. A callback finds the beginning of the name. */
const NAME = String.raw`(?:${WORDS}|_KEY(?!\w))[\p{L}\d_-]{0,60}`;

function named(notation: Notation, pattern: string): Rule {
  const secretOf: Rule["secretOf"] = (value, before, next) => namedSecret({ notation, value, before, next });
  return { kind: "secret", pattern: new RegExp(pattern, "gimu"), secretOf };
}

const HEADER_RULES: readonly Rule[] = [
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
];

const PLACE_RULES: readonly Rule[] = [
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
];

const NAMED_RULES: readonly Rule[] = [
  // `NAME=value`, `export NAME=value`, `name: value`: the value ends with its line, which may be part of a patch.
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

/** The end of a name and the separator after it, in one pattern for all notations. */
const NAMED_HINT = String.raw`(?:${WORDS}|_KEY|\bkey)[\p{L}\d_-]{0,60}(?:[\\"'\]]{0,3}\s{0,9}[:=：是は]|["'],|>|\s{1,9}(?:is|ist|es|est)\s)|--[\w-]{0,60}(?:passphrase|password|secret|token|key)[= ]`;

/**
 * Secrets by their own form, or by the text before them, in the order in which they apply.
 *
 * Invariant: time is linear. Each pattern consumes the text it reads, or has a bound, or no match can begin inside it.
 */
export const RULE_GROUPS: readonly RuleGroup[] = [
  { hint: /-----(?:BEGIN|END)/, rules: secretShapes.filter(({ kind }) => kind === "private key") },
  {
    hint: new RegExp(String.raw`\b(?:${beginnings(false)}|${beginnings(true)})|hooks\.slack`),
    rules: secretShapes.filter(({ kind }) => kind !== "private key"),
  },
  { hint: /authorization|bearer|basic|cookie/i, rules: HEADER_RULES },
  {
    hint: /:\/\/[^\s/]{1,320}@|[?&][\w.-]{1,60}=|(?<!\S)(?:-u|--user)[= ]|login[ \t]/i,
    rules: PLACE_RULES,
  },
  { hint: new RegExp(NAMED_HINT, "iu"), rules: NAMED_RULES },
];

/** The last name, without the escaped line end before it. */
const NAME_AT_END = /(?:\\[nrt])?([\p{L}\d_-]*[\p{L}\d_])(?=[^\p{L}\d_-]*$)/u;

/** Punctuation directly after a value. */
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

/** Recognises a secret without digits, or of digits alone, by its notation. */
function isPhrase(value: string, { notation, name, before, isConstant, isPassword }: PhraseAt): boolean {
  if (isWordForSecret(value)) return false;
  if (!/(?:secret|passw(?:or)?[dt]|passphrase|passcode|pass|pwd|token|key)[-_\d]*$/i.test(name)) return false;
  if (/^\d+$/.test(value)) return isPassword;
  if (value.length < 6) return false;
  if (notation === "quoted" || (isConstant && /[=:]$/.test(before.trimEnd()) && notation === "line"))
    return true;
  if (isConstant && before.endsWith("=")) return true;
  // A line of a settings file. A line of code ends with a comma or semicolon, or assigns a named value.
  if (notation === "line" && isPassword && before.endsWith("="))
    return !/[,;]$/.test(value) && !SECRET_WORD.test(value);
  return value.length >= MIN_SECRET_CHARS && /[A-Za-z][-!@#%^&*+~][A-Za-z]/.test(value);
}

export function isMixed(value: string): boolean {
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
