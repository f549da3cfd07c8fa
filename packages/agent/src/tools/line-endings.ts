import type { TextChange } from "./text-edit.ts";

export function withLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/**
 * Changes of the text with `\n` as changes of the text as it stands in the file. What is put in gets the line ends of
 * what it replaces, else those that most lines have; all other lines keep theirs.
 */
export function inFileEndings(text: string, changes: readonly TextChange[]): TextChange[] {
  // Where, in the text with `\n`, a `\r` was taken out.
  const removed = Array.from(text.matchAll(/\r\n/g), ({ index }, before) => index - before);
  const isCrlfFile = removed.length * 2 > text.split("\n").length - 1;
  let passed = 0;
  const inFile = (position: number) => {
    while (passed < removed.length && removed[passed]! < position) passed += 1;
    return position + passed;
  };
  return changes.map((change) => {
    const start = inFile(change.start);
    const end = inFile(change.end);
    const replaced = text.slice(start, end);
    const isCrlf = replaced.includes("\n") ? replaced.includes("\r\n") : isCrlfFile;
    return {
      start,
      end,
      replacement: isCrlf ? change.replacement.replaceAll("\n", "\r\n") : change.replacement,
    };
  });
}
