import { frontmatterParts } from "@bonsai-agent/agent/host";
import { parse } from "yaml";

interface Parted<Fields> {
  frontmatter: Fields;
  body: string;
}

/** The YAML between two lines of dashes at the head of a text, and the text behind it. @throws what the YAML is wrong in */
export function parseFrontmatter<Fields extends object = Record<string, unknown>>(
  content: string,
): Parted<Fields> {
  const { yaml, body } = frontmatterParts(content);
  if (yaml === undefined) return { frontmatter: {} as Fields, body };
  return { frontmatter: (parse(yaml) ?? {}) as Fields, body: body.trim() };
}

export function stripFrontmatter(content: string): string {
  return parseFrontmatter(content).body;
}
