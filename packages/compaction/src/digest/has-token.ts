/** True where the key stands in the folded text as a word of its own. */
export function hasToken(folded: string, key: string): boolean {
  if (key === "") return false;
  for (let at = folded.indexOf(key); at !== -1; at = folded.indexOf(key, at + 1))
    if (!isWordChar(folded[at - 1]) && !isWordChar(folded[at + key.length])) return true;
  return false;
}

function isWordChar(char: string | undefined): boolean {
  return char !== undefined && /[a-z0-9_]/i.test(char);
}
