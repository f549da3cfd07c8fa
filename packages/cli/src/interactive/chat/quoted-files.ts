/** A message, and the files that it names and that were sent with it. */
export interface QuotedFiles {
  /** What was typed. */
  text: string;
  files: { path: string; lineCount: number }[];
}

const opening = /\n\n<file path=("(?:[^"\\]|\\.)*")>\n/g;
const closing = "\n</file>";

/** Tells what was typed from the files behind it; what only looks like one stays in the text. */
export function quotedFiles(sent: string): QuotedFiles {
  if (!sent.endsWith(closing)) return { text: sent, files: [] };
  for (const { index } of sent.matchAll(opening)) {
    const text = sent.slice(0, index);
    const files = filesIn(sent.slice(index)).filter(
      ({ path }) => text.includes(`@${path}`) || text.includes(`@"${path}"`),
    );
    if (files.length > 0) return { text, files };
  }
  return { text: sent, files: [] };
}

function filesIn(text: string): QuotedFiles["files"] {
  const found = [...text.matchAll(opening)];
  return found.map(({ 0: begun, 1: path = '""', index }, at) => {
    const end = found[at + 1]?.index ?? text.length;
    const quoted = text.slice(index + begun.length, end - closing.length);
    return { path: pathOf(path), lineCount: quoted.split("\n").length };
  });
}

function pathOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // Nobody has sent this as the name of a file: it is found in no text.
    return quoted;
  }
}
