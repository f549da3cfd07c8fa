/** Cuts the middle out of a text that is too long: head and tail stay, for errors stand at the end. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = (missing: number) => `\n[… ${missing} more characters …]\n`;
  const room = Math.max(0, maxChars - marker(text.length).length - 1);
  const head = text.slice(0, boundary(text, Math.ceil(room / 2)));
  const tail = text.slice(boundary(text, text.length - Math.floor(room / 2)));
  return `${head}${marker(text.length - head.length - tail.length)}${tail}`;
}

/** The place, or the one before it where it would split a surrogate pair. */
function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
}
