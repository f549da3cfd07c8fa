import {
  type ExtensionToolResult,
  MAX_RESULT_BYTES,
  MAX_RESULT_LINES,
  maskKeys,
  textHead,
  textTail,
} from "@bonsai-agent/extension";
import { type ServerConfig, serverKeys } from "./config.ts";
import { type Block, contentBlocks, saveBlob, textBlock } from "./content.ts";
import { plainLine, plainText } from "./foreign-text.ts";

/** Stored with a result, for people and programs. */
export interface McpDetails {
  server: string;
  tool: string;
  /** The structured result, unless it is long. */
  structuredContent?: unknown;
}

const MAX_IMAGES = 10;
/** Parts of one result. The others are counted. */
const MAX_PARTS = 500;

/** Turns any answer of a server into a result for the model: bounded, and without keys. */
export function readResult(
  raw: Record<string, unknown>,
  config: ServerConfig,
  tool: string,
): ExtensionToolResult<McpDetails> {
  const { content = [], structuredContent, isError } = raw;
  const mask = maskKeys(serverKeys(config));
  const all = Array.isArray(content) ? content : [];
  const parts = all.slice(0, MAX_PARTS);
  const blocks = parts.flatMap(contentBlocks);
  if (!Array.isArray(content)) blocks.push(textBlock("[omitted content that is not a list]"));
  const structured = jsonOf(structuredContent);
  if (structured !== undefined && !isRepeated(structuredContent, parts))
    blocks.push(textBlock(plainText(structured)));
  if (all.length > MAX_PARTS) blocks.push(textBlock(`[Omitted ${all.length - MAX_PARTS} more parts.]`));
  const data = mask(structured ?? "");
  return {
    content: bounded(blocks.map((block) => (block.type === "text" ? textBlock(mask(block.text)) : block))),
    details: {
      server: config.name,
      tool: plainLine(tool),
      ...(data !== "" && data.length <= MAX_RESULT_BYTES && { structuredContent: JSON.parse(data) }),
    },
    ...(isError === true && { isError }),
  };
}

/** Undefined for a value without JSON, such as one that is nested too deep. */
function jsonOf(value: unknown): string | undefined {
  try {
    return value === undefined || value === null ? undefined : JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Upper bound for one comparison. Longer results are cut for the model anyway. */
const MAX_COMPARED_CHARS = 200_000_000;

/** True if the parts have every value of a structured result. Many servers send a result twice: as text and as data. */
function isRepeated(structured: unknown, parts: readonly unknown[]): boolean {
  const texts = parts.flatMap((part) => (part as { text?: unknown } | null)?.text ?? []);
  const text = [...texts, jsonOf(parts)].join("\n");
  const lower = text.toLowerCase();
  const words = new Set(lower.match(/-?\d+(?:\.\d+)*|[a-z]+/g));
  const values = valuesOf(structured);
  if (values.length * text.length > MAX_COMPARED_CHARS) return false;
  return values.every(({ key, value }) => {
    if (key !== undefined && !lower.includes(key.toLowerCase())) return false;
    const json = JSON.stringify(value);
    if (typeof value === "string") return text.includes(value.trim()) || text.includes(json.slice(1, -1));
    return typeof value === "object" && value !== null ? text.includes(json) : words.has(json);
  });
}

interface KeyedValue {
  /** Undefined in a list, and in an object with one field: they only wrap the value. */
  key: string | undefined;
  value: unknown;
}

/** The strings, numbers, booleans, nulls and empty lists of a value. */
function valuesOf(value: unknown, key?: string): KeyedValue[] {
  if (typeof value !== "object" || value === null) return [{ key, value }];
  const fields = Object.entries(value);
  if (fields.length === 0) return [{ key, value }];
  const isWrapper = Array.isArray(value) || fields.length === 1;
  return fields.flatMap(([name, inner]) => valuesOf(inner, isWrapper ? key : name));
}

function bounded(blocks: readonly Block[]): Block[] {
  const images = blocks.filter(({ type }) => type === "image");
  const shown = new Set(images.slice(0, MAX_IMAGES));
  const omitted = images.length - shown.size;
  const note = omitted > 0 ? [textBlock(`[Omitted ${omitted} more images.]`)] : [];
  const all = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  if (
    Buffer.byteLength(all) > MAX_RESULT_BYTES ||
    all.split("\n", MAX_RESULT_LINES + 1).length > MAX_RESULT_LINES
  )
    return [textBlock(shortened(all)), ...shown, ...note];
  const kept = [...blocks.filter((block) => block.type === "text" || shown.has(block)), ...note];
  return kept.length === 0 ? [textBlock("(no output)")] : kept;
}

/** Head and tail of a long text, and the place of all of it. */
function shortened(all: string): string {
  const bytes = Buffer.from(all);
  const note = `\n[… the middle is omitted. Full output, ${bytes.length.toLocaleString("en-US")} bytes: ${saveBlob(bytes, "txt")} …]\n`;
  return `${endOf(all, "head")}${note}${endOf(all, "tail")}`;
}

/** One end of a long text: half of the limits of a result. */
function endOf(all: string, end: "head" | "tail"): string {
  const half = MAX_RESULT_BYTES / 2;
  const maxLines = MAX_RESULT_LINES / 2;
  const lines = (end === "head" ? textHead(all, half) : textTail(all, half)).split("\n");
  const bytes = Buffer.from((end === "head" ? lines.slice(0, maxLines) : lines.slice(-maxLines)).join("\n"));
  const cut = end === "head" ? bytes.subarray(0, half) : bytes.subarray(-half);
  return cut.toString("utf8").replaceAll(/^\uFFFD+|\uFFFD+$/g, "");
}
