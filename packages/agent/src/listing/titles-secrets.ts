import { authorizationPattern, secretShapes } from "@bonsai-agent/messages";

/**
 * The text without what may be a secret. A title loses nothing by one word too few, so that a long word of letters and
 * digits is taken for one, whatever it is.
 */
export function withoutSecrets(text: string): string {
  // Before the shapes: of a key file that is cut off, whatever follows goes.
  const withoutKeyFiles = text.replaceAll(/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, " ");
  return secretShapes
    .reduce((sum, { pattern }) => sum.replaceAll(pattern, " "), withoutKeyFiles)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]*@/gi, "$1")
    .replaceAll(authorizationPattern, (all: string, before: string, value: string) =>
      /^B/.test(before) || /\d/.test(value) ? before.trim() : all,
    )
    .replaceAll(named, "$1")
    .replaceAll(/\S+/g, (word) => (isSecret(word) ? "" : word));
}

/** `password: x`, `API_KEY=x`, `the password is x`: the name stays. */
const named =
  /((?<![\p{L}\d_-])[\p{L}\d_-]*(?:passw(?:or)?[dt]|passphrase|pwd|secret|token|credential|api[-_ ]?key|access[-_ ]?key|auth[-_]?key|contraseña|密码|密碼|パスワード|пароль)[\p{L}\d_-]*)["'`]?(?:\s*(?:[:=：]|=>)\s*|\s+(?:is|ist|es|est|=)\s+|(?:是|は)\s*)["'`]?[^\s"'`]+/giu;

/** A secret at the cut must still be seen whole, or almost. */
const BEYOND_CUT_CHARACTERS = 1_000;

/** The beginning of a text, without what may be a secret. */
export function beginningWithoutSecrets(text: string, characters: number): string {
  return withoutSecrets(text.slice(0, characters + BEYOND_CUT_CHARACTERS)).slice(0, characters);
}

/** Enough by themselves: not those that names in code have as well. */
const knownBeginnings = new RegExp(
  `^(?:${secretShapes
    .flatMap(({ beginning = [], isCommonBeginning }) => (isCommonBeginning ? [] : beginning))
    .join("|")})`,
);
const LEAST_KNOWN_CHARACTERS = 12;
const LEAST_RANDOM_CHARACTERS = 20;
/** Base64 can look like a path; but no path is so long without a dot, and has capitals and digits. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){3})[A-Za-z0-9+/]{32,}=*$/;

function isSecret(word: string): boolean {
  const bare = word.replaceAll(/^[^\p{L}\d]+|(?<![^\p{L}\d=])[^\p{L}\d=]+$/gu, "");
  if (bare.length >= LEAST_KNOWN_CHARACTERS && knownBeginnings.test(bare)) return true;
  if (base64.test(bare)) return true;
  return bare.split(/[/\\:=,;()[\]{}"'`<>@]/).some(looksRandom);
}

function looksRandom(part: string): boolean {
  if (part.length < LEAST_RANDOM_CHARACTERS || !/^[A-Za-z0-9+_=.-]+$/.test(part)) return false;
  return (part.match(/\d/g)?.length ?? 0) >= 3 && /[A-Za-z]/.test(part);
}
