/**
 * The text without what may be a secret. A title loses nothing by one word too few, so that a long word of letters and
 * digits is taken for one, whatever it is.
 */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, " ")
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]*@/gi, "$1")
    .replaceAll(/\b(Bearer|Basic)\s+\S+/g, "$1")
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

const knownBeginnings =
  /^(?:sk-|[sprk]{2}_(?:live|test)_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|hf_|npm_|pypi-|SG\.|eyJ|gsk_|xai-|r8_)/;
const LEAST_KNOWN_CHARACTERS = 12;
const LEAST_RANDOM_CHARACTERS = 20;
/** Base64 can look like a path; but no path is so long without a dot, and has capitals and digits. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){3})[A-Za-z0-9+/]{32,}=*$/;

function isSecret(word: string): boolean {
  const bare = word.replaceAll(/^[^\p{L}\d]+|[^\p{L}\d=]+$/gu, "");
  if (bare.length >= LEAST_KNOWN_CHARACTERS && knownBeginnings.test(bare)) return true;
  if (base64.test(bare)) return true;
  return bare.split(/[/\\:=,;()[\]{}"'`<>@]/).some(looksRandom);
}

function looksRandom(part: string): boolean {
  if (part.length < LEAST_RANDOM_CHARACTERS || !/^[A-Za-z0-9+_=.-]+$/.test(part)) return false;
  return (part.match(/\d/g)?.length ?? 0) >= 3 && /[A-Za-z]/.test(part);
}
