/** Text in a code block whose fence is longer than any in the text, so that nothing inside ends it. */
export function codeBlock(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** One line of text as inline code. */
export function codeSpan(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const ticks = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") || line === "" ? " " : "";
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

/**
 * Markdown that somebody else wrote, made harmless for the document around it: HTML outside of code is
 * escaped, and a code block that is never closed is closed.
 */
export function foreignMarkdown(text: string): string {
  let fence: string | undefined;
  const lines = text.split("\n").map((line) => {
    const marker = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence !== undefined) {
      if (marker !== null && closes(marker, fence)) fence = undefined;
      return line;
    }
    if (marker !== null) fence = marker[1]!;
    return marker === null ? escapeOutsideCode(line) : line;
  });
  return fence === undefined ? lines.join("\n") : `${lines.join("\n")}\n${fence}`;
}

function closes([, marker = "", rest = ""]: RegExpExecArray, fence: string): boolean {
  return marker[0] === fence[0] && marker.length >= fence.length && rest.trim() === "";
}

/** Escapes what could begin a tag or comment, but not in inline code, where it would show. */
function escapeOutsideCode(line: string): string {
  return line
    .split(/(`+[^`]*`+)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/<(?=[A-Za-z/!?])/g, "&lt;")))
    .join("");
}

/** Text inside an HTML element. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Content that is folded away until somebody opens it. */
export function folded(summary: string, body: string): string {
  return `<details>\n<summary>${escapeHtml(summary)}</summary>\n\n${body}\n\n</details>`;
}

export function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/** `1234567` as `1,234,567`, whatever the machine's language. */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}
