/** What a secret is called in a notice. */
export type SecretKind = "private key" | "API key" | "token" | "key" | "webhook";

/** The form that the secrets of one issuer have. */
export interface SecretShape {
  readonly kind: SecretKind;
  /** Finds whole ones wherever they stand; a word or the name of something does not pass. Global. */
  readonly pattern: RegExp;
  /**
   * How they begin, as the source of a pattern: for texts in which one word too few costs less than a secret that was
   * shortened or masked. Absent where the beginning says nothing by itself.
   */
  readonly beginning?: string;
  /** Ordinary names begin so as well (`pk_orders`, `fw-update`). Default false. */
  readonly isCommonBeginning?: boolean;
}

/** Bounded, so that time stays linear; no issuer's secrets have so many characters without a digit. */
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
 * Secrets by their own form. The more particular come first. Bare hexadecimal strings and UUIDs are none: commits and
 * entries are named by them.
 *
 * Invariant: time is linear. What a pattern walks over, it takes, or nothing can begin within it, or it is bounded.
 */
export const secretShapes: readonly SecretShape[] = [
  {
    kind: "private key",
    pattern:
      /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN)[\s\S]){0,20000}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:Proc-Type|DEK-Info):[^\n]*|[A-Za-z0-9+/=\s\\])*)/g,
  },
  // A tail of a file can begin within a key.
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
