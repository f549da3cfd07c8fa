interface SecretPattern {
  name: string;
  pattern: RegExp;
  /** What of the match stays; default: nothing. */
  keep?: (groups: string[]) => { before: string; after?: string } | undefined;
}

/**
 * Secrets by their own form, or by the name that stands before them. Bare hexadecimal strings and UUIDs
 * are never secrets by themselves: commits and entries are named by them.
 */
const PATTERNS: readonly SecretPattern[] = [
  {
    name: "private key",
    pattern:
      /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,20000}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*)/g,
  },
  { name: "API key", pattern: /\bsk-ant-[A-Za-z0-9_-]{20,}/g },
  { name: "API key", pattern: /\bsk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}/g },
  { name: "API key", pattern: /\bAIza[0-9A-Za-z_-]{35}/g },
  { name: "API key", pattern: /\b(?:gsk|xai|pplx|r8)[-_][A-Za-z0-9]{30,}/g },
  { name: "token", pattern: /\bgh[pousr]_[A-Za-z0-9]{36,}/g },
  { name: "token", pattern: /\bgithub_pat_[A-Za-z0-9_]{22,}/g },
  { name: "token", pattern: /\bglpat-[A-Za-z0-9_-]{20,}/g },
  { name: "token", pattern: /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g },
  { name: "token", pattern: /\bnpm_[A-Za-z0-9]{36}/g },
  { name: "token", pattern: /\bpypi-[A-Za-z0-9_-]{50,}/g },
  { name: "token", pattern: /\bhf_[A-Za-z0-9]{30,}/g },
  { name: "token", pattern: /\bya29\.[A-Za-z0-9_-]{20,}/g },
  { name: "token", pattern: /\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/g },
  { name: "token", pattern: /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
  { name: "key", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { name: "key", pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g },
  { name: "webhook", pattern: /https:\/\/hooks\.slack\.com\/services\/[A-Za-z0-9/]{20,}/g },
  {
    name: "authorization",
    pattern: /\b((?:Bearer|Basic)\s+)([A-Za-z0-9._~+/=-]{16,})/gi,
    keep: ([before = "", value = ""]) => (looksRandom(value) ? { before } : undefined),
  },
  {
    name: "password",
    pattern: /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/]{0,100}:)([^\s:@/]{3,200})(@)/gi,
    keep: ([before = "", , after = ""]) => ({ before, after }),
  },
  {
    name: "secret",
    pattern:
      /\b([A-Za-z0-9_]*(?:api_?key|secret|passw(?:or)?d|access_?key|private_?key|auth_?token|access_?token|refresh_?token|_token)[A-Za-z0-9_]*\\?["']?\s*[:=]\s*\\?["']?)([A-Za-z0-9+/_=.~!@#$%^&*-]{8,})/gi,
    keep: ([before = "", value = ""]) => (looksRandom(value) ? { before } : undefined),
  },
];

/** Digits among letters, and no call, path or placeholder: names of variables and types are not secrets. */
function looksRandom(value: string): boolean {
  return /\d/.test(value) && /[A-Za-z]/.test(value) && !/^(?:process\.|\$|env\.|\*+$)/.test(value);
}

/** Replaces secrets by `[redacted: kind]`; says how many there were. */
export function redactSecrets(text: string): { text: string; count: number } {
  let count = 0;
  let redacted = text;
  for (const { name, pattern, keep } of PATTERNS) {
    redacted = redacted.replace(pattern, (match: string, ...rest: unknown[]) => {
      const groups = rest.filter((group) => typeof group === "string").slice(0, -1);
      const kept = keep === undefined ? { before: "" } : keep(groups);
      if (kept === undefined) return match;
      count += 1;
      return `${kept.before}[redacted: ${name}]${kept.after ?? ""}`;
    });
  }
  return { text: redacted, count };
}
