/**
 * The start of a text in at most `limit` characters, ended at a clause or a word, never inside a word, a code span or
 * a surrogate pair.
 */
export function gist(text: string, limit: number): string {
  const single = text.replace(/\s+/g, " ").trim();
  if (single.length <= limit) return single;
  const head = single.slice(0, limit);
  const clause = Math.max(
    ...[". ", "; ", ", ", " — ", " – ", ": ", "。", "，", "、", "；"].map((mark) => head.lastIndexOf(mark)),
  );
  const word = head.lastIndexOf(" ");
  const end = clause > limit * 0.6 ? clause : word > limit * 0.5 ? word : limit;
  const cut = withoutOpenCode(head.slice(0, end)).replace(/[\s,;:.\u2013\u2014、，；：-]+$/u, "");
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

function withoutOpenCode(text: string): string {
  const ticks = text.split("`").length - 1;
  return ticks % 2 === 1 ? text.slice(0, text.lastIndexOf("`")) : text;
}
