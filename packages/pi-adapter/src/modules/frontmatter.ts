import { parse } from "yaml";

interface Parted<Fields> {
  frontmatter: Fields;
  body: string;
}

const fence = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

/** The YAML between two lines of dashes at the head of a text, and the text behind it. */
export function parseFrontmatter<Fields extends object = Record<string, unknown>>(
  content: string,
): Parted<Fields> {
  const text = content.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const match = fence.exec(text);
  if (match === null) return { frontmatter: {} as Fields, body: text };
  const fields: unknown = parse(match[1] ?? "");
  return { frontmatter: (fields ?? {}) as Fields, body: text.slice(match[0].length).trim() };
}

export function stripFrontmatter(content: string): string {
  return parseFrontmatter(content).body;
}
