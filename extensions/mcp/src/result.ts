import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ExtensionToolResult,
  imageProblem,
  MAX_RESULT_BYTES,
  MAX_RESULT_LINES,
  maskKeys,
  outputFolder,
  textHead,
  textTail,
} from "@bonsai-agent/extension";
import { type ServerConfig, serverKeys } from "./config.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import type { ListedTool } from "./listing.ts";
import { unseenResult } from "./structured.ts";

/** Stored with a result, for people and programs. */
export interface McpDetails {
  server: string;
  tool: string;
  /** The structured result, unless it is long. */
  structuredContent?: unknown;
}

export interface ResultOf {
  config: ServerConfig;
  tool: ListedTool;
  /** Called with each problem of the result, for the user. */
  onProblem(problem: string): void;
}

type Block = ExtensionToolResult["content"][number];

/** The limit of the tool `read`. */
const MAX_IMAGE_BYTES = 5 << 20;
const MAX_IMAGES = 10;
/** Blocks of one result. The others are counted. */
const MAX_BLOCKS = 500;

/** Turns any answer of a server into a result for the model: bounded, and without keys. */
export function readResult(raw: Record<string, unknown>, of: ResultOf): ExtensionToolResult<McpDetails> {
  const { config, tool } = of;
  const { content = [], structuredContent } = raw;
  if (!Array.isArray(content))
    of.onProblem(`The tool ${plainLine(tool.name, 80)} returned content that is not a list.`);
  const blocks = Array.isArray(content) ? content : [];
  const read = blocks.slice(0, MAX_BLOCKS).flatMap((block) => blockOf(block));
  const isError = raw.isError === true;
  const mask = maskKeys(serverKeys(config));
  const data = jsonOf(structuredContent, mask);
  const unseen = jsonOf(unseenResult(structuredContent, blocks.slice(0, MAX_BLOCKS)), mask);
  if (unseen !== undefined) read.push(text(plainText(unseen)));
  if (blocks.length > MAX_BLOCKS) read.push(text(`[Omitted ${blocks.length - MAX_BLOCKS} more parts.]`));
  if (!isError) checkOutput(structuredContent, of);
  return {
    content: bounded(read.map((block) => (block.type === "text" ? text(mask(block.text)) : block))),
    details: {
      server: config.name,
      tool: plainLine(tool.name),
      ...(data !== undefined && data.length <= MAX_RESULT_BYTES && { structuredContent: JSON.parse(data) }),
    },
    ...(isError && { isError }),
  };
}

function text(text: string): Block {
  return { type: "text", text };
}

function blockOf(block: unknown): Block[] {
  const { type, ...given } = (block ?? {}) as Record<string, unknown>;
  switch (type) {
    case "text":
      return typeof given.text === "string" ? [text(plainText(given.text))] : [];
    case "image":
    case "audio":
      return [mediaOf(given.data, given.mimeType, type)];
    case "resource":
      return resourceOf(given.resource);
    case "resource_link":
      return [text(linkOf(given))];
    default:
      return [text(`[omitted a part of unknown type ${plainLine(String(type), 40)}]`)];
  }
}

function resourceOf(resource: unknown): Block[] {
  const { uri, text: inner, blob, mimeType } = (resource ?? {}) as Record<string, unknown>;
  const name = plainLine(String(uri), 500);
  if (typeof inner === "string") return [text(`[resource ${name}]\n${plainText(inner)}`)];
  return [text(`[resource ${name}]`), mediaOf(blob, mimeType, "resource")];
}

function linkOf({ uri, name, description, mimeType }: Record<string, unknown>): string {
  const about = [name, mimeType, description]
    .filter((each): each is string => typeof each === "string" && each !== "")
    .map((each) => plainLine(each));
  return `[link to the resource ${plainLine(String(uri), 500)}${about.length > 0 ? `: ${about.join(", ")}` : ""}]`;
}

/** Returns an image that models accept. Everything else becomes a file. */
function mediaOf(data: unknown, mimeType: unknown, kind: string): Block {
  if (typeof data !== "string") return text(`[${kind} without data]`);
  const bytes = Buffer.from(data, "base64");
  const said = typeof mimeType === "string" ? plainLine(mimeType, 80) : "of unknown type";
  if (bytes.length === 0) return text(`[${kind}, ${said}: empty]`);
  const image = imageType(bytes);
  const problem = image === undefined ? undefined : imageProblem(bytes);
  if (image !== undefined && problem === undefined && bytes.length <= MAX_IMAGE_BYTES)
    return { type: "image", data: bytes.toString("base64"), mimeType: image };
  const reason = problem === undefined ? "" : `not shown, ${problem}; `;
  return text(
    `[${kind}, ${said}, ${bytes.length.toLocaleString("en-US")} bytes: ${reason}${kept(bytes, endings[said] ?? "bin")}]`,
  );
}

/** Reads the type from the bytes: a provider refuses the whole request for a wrong type. */
export function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString("latin1", 0, 12);
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(start)) return "image/gif";
  return /^RIFF.{4}WEBP/s.test(start) ? "image/webp" : undefined;
}

const endings: Readonly<Record<string, string>> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "image/svg+xml": "svg",
  "image/bmp": "bmp",
  "application/pdf": "pdf",
  "application/zip": "zip",
  "application/gzip": "gz",
  "application/json": "json",
  "text/plain": "txt",
  "text/html": "html",
};

/** Saved bytes of all results of this process. */
const MAX_KEPT_BYTES = 1 << 30;
let keptBytes = 0;

/** Saves bytes for the agent to read. Returns the place, or the reason why there is none. */
function kept(bytes: Buffer | string, ending: string): string {
  if (keptBytes + bytes.length > MAX_KEPT_BYTES)
    return "not saved: the results saved so far have reached 1 GB";
  keptBytes += bytes.length;
  try {
    const path = join(outputFolder(), `${randomUUID()}.${ending}`);
    writeFileSync(path, bytes, { flag: "wx", mode: 0o600 });
    return `saved in ${path}`;
  } catch (error) {
    return `could not be saved: ${(error as Error).message}`;
  }
}

/** Undefined for a value without JSON, such as one that is nested too deep. */
function jsonOf(value: unknown, mask: (text: string) => string): string | undefined {
  try {
    return value === undefined || value === null ? undefined : mask(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

function bounded(blocks: readonly Block[]): Block[] {
  const images = blocks.filter(({ type }) => type === "image");
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const all = texts.join("\n");
  const isLong = Buffer.byteLength(all) > MAX_RESULT_BYTES || lineCount(all) > MAX_RESULT_LINES;
  const left =
    images.length > MAX_IMAGES ? [text(`[Omitted ${images.length - MAX_IMAGES} more images.]`)] : [];
  if (isLong) return [text(shortened(all)), ...images.slice(0, MAX_IMAGES), ...left];
  const keptImages = new Set(images.slice(0, MAX_IMAGES));
  const whole = blocks.filter((block) => block.type === "text" || keptImages.has(block));
  return whole.length + left.length === 0 ? [text("(no output)")] : [...whole, ...left];
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Head and tail of a long text, and the place of all of it. */
function shortened(all: string): string {
  const bytes = Buffer.from(all);
  const note = `\n[… the middle is omitted. Full output, ${bytes.length.toLocaleString("en-US")} bytes: ${kept(bytes, "txt")} …]\n`;
  return `${part(all, "head")}${note}${part(all, "tail")}`;
}

/** One end of a long text, in whole lines if possible: half of the limits of a result. */
function part(all: string, end: "head" | "tail"): string {
  const half = MAX_RESULT_BYTES / 2;
  const near = end === "head" ? textHead(all, half) : textTail(all, half);
  const lines = near.split("\n");
  const most = MAX_RESULT_LINES / 2;
  const few = (end === "head" ? lines.slice(0, most) : lines.slice(-most)).join("\n");
  const bytes = Buffer.from(few);
  if (bytes.length <= half) return few;
  const cut = end === "head" ? bytes.subarray(0, half) : bytes.subarray(-half);
  return cut.toString("utf8").replaceAll(/^\uFFFD+|\uFFFD+$/g, "");
}

/** Compares names and types of the top level only: an expression of a schema could keep this program busy for ever. */
function checkOutput(data: unknown, { tool, onProblem }: ResultOf): void {
  const schema = tool.outputSchema;
  if (schema === undefined) return;
  const name = plainLine(tool.name, 80);
  if (!isObject(data)) {
    onProblem(`The tool ${name} declares structured output but returned none.`);
    return;
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.filter((field) => typeof field === "string" && !Object.hasOwn(data, field));
  const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
  const wrong = properties.filter(([field, of]) => !isOfType(data[field], of));
  const named = [...missing, ...wrong.map(([field]) => field)].map((field) => plainLine(String(field), 40));
  if (named.length > 0)
    onProblem(`A result of the tool ${name} does not match its schema: ${named.slice(0, 5).join(", ")}.`);
}

function isOfType(value: unknown, schema: unknown): boolean {
  const type = (schema as { type?: unknown } | null)?.type;
  if (value === undefined || typeof type !== "string") return true;
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
