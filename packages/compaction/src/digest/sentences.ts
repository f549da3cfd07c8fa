const MAX_SENTENCE_CHARS = 600;
const ABBREVIATION =
  /(?:\b(?:e\.g|i\.e|etc|vs|bzw|z\.B|d\.h|ca|usw|ggf|p\.ex|Sr|Sra|Dr|Mr|Mrs|Ms|No|Nr|approx|incl|т\.е|т\.д|т\.п|др)|\b\p{L}|^\d{1,2})\.$/iu;

/** The sentences of a line of prose, whatever its script. Points inside numbers, names and paths end nothing. */
export function sentences(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  for (const match of text.matchAll(/[.!?…]+["')\]]*(?=\s)|[。！？｡]+[」』）]*|[;；]\s/gu)) {
    const end = match.index + match[0].length;
    if (match[0] === "." && ABBREVIATION.test(text.slice(start, end))) continue;
    pushSentence(found, text.slice(start, end));
    start = end;
  }
  pushSentence(found, text.slice(start));
  return found;
}

function pushSentence(found: string[], piece: string): void {
  const sentence = piece.trim().replace(/[;；]$/, "");
  if (sentence.length <= MAX_SENTENCE_CHARS) {
    if (/[\p{L}\p{N}]/u.test(sentence)) found.push(sentence);
    return;
  }
  for (let at = 0; at < sentence.length && at < 4 * MAX_SENTENCE_CHARS; at += MAX_SENTENCE_CHARS)
    found.push(sentence.slice(at, at + MAX_SENTENCE_CHARS));
}
