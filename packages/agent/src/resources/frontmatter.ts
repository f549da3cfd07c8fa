import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

/** A Markdown file, split at its lines of dashes. */
interface FrontmatterParts {
  /** Undefined for a text without fields. */
  yaml: string | undefined;
  /** Without the fields; line ends are `\n`. */
  body: string;
  /** The reason why there are no fields: the end of a sentence about the file, without a full stop. */
  problem?: string;
}

interface Frontmatter extends Omit<FrontmatterParts, "yaml"> {
  /** Empty if there are none, or if they cannot be read. */
  fields: Record<string, unknown>;
}

/** `parse` of the package yaml, which is loaded only for a file with fields. */
export type ParseYaml = (text: string, options: { logLevel: "error" }) => unknown;

/** Longer fields are not a description, and slow down the parser. */
const MAX_YAML_CHARS = 64 * 1024;

const FENCE = /^---[ \t]*$/;

/** Finds the fields without parsing them. */
export function frontmatterParts(content: string): FrontmatterParts {
  const text = content.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const [first = "", ...lines] = text.split("\n");
  if (!FENCE.test(first)) return { yaml: undefined, body: text };
  const end = lines.findIndex((line) => FENCE.test(line));
  if (end < 0) return { yaml: undefined, body: text, problem: "its front matter has no closing line ---" };
  return { yaml: lines.slice(0, end).join("\n"), body: lines.slice(end + 1).join("\n") };
}

/** Reads the fields of a text. Never rejects: errors become problems. */
export async function parseFrontmatter(content: string): Promise<Frontmatter> {
  const parts = frontmatterParts(content);
  if (parts.yaml === undefined) return readFrontmatter(parts, () => undefined);
  const { parse } = await import("yaml");
  return readFrontmatter(parts, parse);
}

/** Parses the fields. Never throws: errors become problems. */
export function readFrontmatter({ yaml, body, problem }: FrontmatterParts, parse: ParseYaml): Frontmatter {
  if (yaml === undefined) return { fields: {}, body, ...(problem !== undefined && { problem }) };
  const text = body.replace(/^\n+/, "");
  if (yaml.length > MAX_YAML_CHARS) {
    const size = `${count(yaml.length)} characters; the maximum is ${count(MAX_YAML_CHARS)}`;
    return { fields: {}, body: text, problem: `its front matter has ${size}` };
  }
  try {
    return { ...fieldsOf(parsed(yaml, parse)), body: text };
  } catch (error) {
    const reason = messageOf(error).split("\n", 1)[0]!.replace(/:$/, "");
    return { fields: {}, body: text, problem: `its front matter is not valid YAML: ${reason}` };
  }
}

function fieldsOf(value: unknown): Pick<Frontmatter, "fields" | "problem"> {
  if (value === null || value === undefined) return { fields: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { fields: value as Record<string, unknown> };
  return { fields: {}, problem: "its front matter is not a list of fields (name: value)" };
}

/** A value on one line. Not for lists without an end and for references: their meaning is unknown. */
const plainValue = /^([\w-]+:[ \t]+)((?![*&!]|[[{][^\]}]*$)\S.*)$/gm;

/** Reads invalid values as text: files of Claude Code have `argument-hint: [a] [b]` and `description: Use: when …`. */
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
