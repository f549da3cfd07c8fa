/** A piece of code and what it is, in the highlighter's word. */
export interface CodeSpan {
  text: string;
  scope: string | undefined;
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** The highlighter's HTML as pieces, each with the innermost scope that it stands in. */
export function codeSpans(html: string): CodeSpan[] {
  const spans: CodeSpan[] = [];
  const scopes: string[] = [];
  for (const [piece, opened] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (opened !== undefined) scopes.push(opened.replace(/^(hljs-|language-)/, ""));
    else if (piece === "</span>") scopes.pop();
    else spans.push({ text: unescaped(piece), scope: scopes.at(-1) });
  }
  return spans;
}

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => entities[entity] ?? entity);
}
