import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

/** The fields between two lines of dashes at the start of a Markdown file, and the text after them. */
interface Frontmatter {
  /** Empty where there are none, or where they cannot be read. */
  fields: Record<string, unknown>;
  /** Without the fields; line ends are `\n`. */
  body: string;
  /** Why the fields could not be read: the end of a sentence about the file, without a full stop. */
  problem?: string;
}

/** A text taken apart at its lines of dashes. */
interface FrontmatterParts {
  /** Undefined for a text without fields. */
  yaml: string | undefined;
  body: string;
  problem?: string;
}

/** As `parse` of the package yaml, which is loaded only where a file has fields. */
export type ParseYaml = (text: string, options: { logLevel: "error" }) => unknown;

/** Fields describe a file; what is longer is none, and would take a parser long. */
const MAX_YAML_CHARS = 64 * 1024;

const fence = /^---[ \t]*$/;

/** Finds the fields and reads nothing of them. */
export function frontmatterParts(content: string): FrontmatterParts {
  const text = content.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const first = lineAt(text, 0);
  if (!fence.test(first)) return { yaml: undefined, body: text };
  const from = first.length + 1;
  for (let at = from; at <= text.length; ) {
    const line = lineAt(text, at);
    const end = at + line.length + 1;
    if (fence.test(line)) return { yaml: text.slice(from, Math.max(from, at - 1)), body: text.slice(end) };
    at = end;
  }
  return { yaml: undefined, body: text, problem: "its front matter has no closing line ---" };
}

function lineAt(text: string, from: number): string {
  const end = text.indexOf("\n", from);
  return text.slice(from, end < 0 ? undefined : end);
}

/** Reads the fields at the head of a text. Never rejects: what cannot be read is a problem. */
export async function parseFrontmatter(content: string): Promise<Frontmatter> {
  const parts = frontmatterParts(content);
  if (parts.yaml === undefined) return readFrontmatter(parts, () => undefined);
  const { parse } = await import("yaml");
  return readFrontmatter(parts, parse);
}

/** The same where the parser is at hand. Never throws. */
export function readFrontmatter({ yaml, body, problem }: FrontmatterParts, parse: ParseYaml): Frontmatter {
  if (yaml === undefined) return { fields: {}, body, ...(problem !== undefined && { problem }) };
  const text = body.replace(/^\n+/, "");
  if (yaml.length > MAX_YAML_CHARS) return { fields: {}, body: text, problem: tooLong(yaml.length) };
  try {
    return { ...fieldsOf(parsed(yaml, parse)), body: text };
  } catch (error) {
    const reason = messageOf(error).split("\n", 1)[0]!.replace(/:$/, "");
    return { fields: {}, body: text, problem: `its front matter is not valid YAML: ${reason}` };
  }
}

function tooLong(characters: number): string {
  const most = count(MAX_YAML_CHARS);
  return `its front matter has ${count(characters)} characters; the maximum is ${most}`;
}

function fieldsOf(value: unknown): Pick<Frontmatter, "fields" | "problem"> {
  if (value === null || value === undefined) return { fields: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { fields: value as Record<string, unknown> };
  return { fields: {}, problem: "its front matter is not a list of fields (name: value)" };
}

/** On one line; a list that is not closed, and what refers to other values, are mistakes that nobody can guess at. */
const plainValue = /^([\w-]+:[ \t]+)((?![*&!]|[[{][^\]}]*$)\S.*)$/gm;

/** Files of Claude Code have values that are no YAML (`argument-hint: [a] [b]`, `description: Use: when …`): texts. */
function parsed(yaml: string, parse: ParseYaml): unknown {
  try {
    return parse(yaml, { logLevel: "error" });
  } catch (error) {
    const quoted = yaml.replaceAll(plainValue, (line, name: string, value: string) =>
      isValid(line, parse) ? line : name + JSON.stringify(value.trim()),
    );
    if (quoted === yaml) throw error;
    return parse(quoted, { logLevel: "error" });
  }
}

function isValid(line: string, parse: ParseYaml): boolean {
  try {
    parse(line, { logLevel: "error" });
    return true;
  } catch {
    return false;
  }
}
