import type { Client } from "@modelcontextprotocol/client";
import { type Block, mediaBlock, textBlock } from "./content.ts";
import { anyResult } from "./faults.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import { type Mention, mentionsIn } from "./mentions.ts";
import type { McpServers } from "./servers.ts";

interface ReadOptions {
  servers: McpServers;
  onNotice(message: string): void;
  /** Stops reading. */
  signal: AbortSignal | undefined;
}

/** Stored with the message, for people and programs. */
export interface ResourceDetails {
  resources: { server: string; uri: string; bytes: number }[];
}

/** Resources that a text mentions. */
export interface NamedResources {
  content: Block[];
  details: ResourceDetails;
}

export const resourceMessage = "mcp-resource";

/** Size of one resource, as for a file in a prompt. */
const MAX_TEXT_BYTES = 1_000_000;
/** Parts of one resource: some resources are folders. */
const MAX_PARTS = 50;
/** Resources of one prompt. */
const MAX_RESOURCES = 20;
/** Time that a prompt waits for its resources. */
const READING_MS = 20_000;

/** Reads the resources that a text mentions; undefined without any. A failure is a notice. */
export async function readMentions(
  text: string,
  { servers, onNotice, signal: aborted }: ReadOptions,
): Promise<NamedResources | undefined> {
  const named = mentionsIn(text, servers);
  if (named.length === 0) return undefined;
  if (named.length > MAX_RESOURCES)
    onNotice(`The prompt mentions ${named.length} resources. Reading the first ${MAX_RESOURCES}.`);
  const limit = AbortSignal.timeout(READING_MS);
  const signal = aborted === undefined ? limit : AbortSignal.any([limit, aborted]);
  const read = await Promise.all(
    named.slice(0, MAX_RESOURCES).map((mention) => readMention(mention, onNotice, signal)),
  );
  const found = read.filter((each) => each !== undefined);
  if (found.length === 0) return undefined;
  return {
    content: found.flatMap(({ blocks }) => blocks),
    details: { resources: found.map(({ about }) => about) },
  };
}

async function readMention(
  { server, uri }: Mention,
  onNotice: ReadOptions["onNotice"],
  signal: AbortSignal,
): Promise<{ about: ResourceDetails["resources"][number]; blocks: Block[] } | undefined> {
  try {
    const parts = await readParts(await server.connected(signal), uri, signal);
    const blocks = resourceBlocks(server.name, uri, parts).map((block) =>
      block.type === "text" ? textBlock(server.masked(block.text)) : block,
    );
    const sizes = blocks.map((block) => (block.type === "text" ? block.text : block.data).length);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { about: { server: server.name, uri, bytes }, blocks };
  } catch (error) {
    const isLate = signal.aborted && (signal.reason as Error | undefined)?.name === "TimeoutError";
    const why = isLate ? `no answer within ${READING_MS / 1_000} s.` : server.reasonOf(error);
    if (isLate || !signal.aborted)
      onNotice(`Cannot read @${plainLine(`${server.name}:${uri}`, 120)}: ${why}`);
    return undefined;
  }
}

type Part = Record<string, unknown>;

async function readParts(client: Client, uri: string, signal: AbortSignal): Promise<Part[]> {
  const request = { method: "resources/read", params: { uri } };
  const { contents } = await client.request(request, anyResult, { signal, timeout: READING_MS });
  if (!Array.isArray(contents) || contents.length === 0) throw new Error("The server returned no content.");
  return contents.map((part) => (part ?? {}) as Part);
}

/** A resource for the model, in a frame with its origin. */
function resourceBlocks(server: string, uri: string, parts: readonly Part[]): Block[] {
  const omitted = parts.length - MAX_PARTS;
  return [
    ...parts.slice(0, MAX_PARTS).flatMap((part) => partBlocks(server, uri, part)),
    ...(omitted > 0 ? [textBlock(`[Omitted ${omitted} more parts of the resource ${plainLine(uri)}.]`)] : []),
  ];
}

function partBlocks(server: string, named: string, { uri, text, blob, mimeType }: Part): Block[] {
  const name = plainLine(typeof uri === "string" && uri !== "" ? uri : named, 500);
  if (typeof text === "string") return [textBlock(quoteResource(server, name, mimeType, text))];
  return [textBlock(`[Resource ${name} of ${server}:]`), mediaBlock(blob, mimeType, "resource")];
}

/** The text cannot end its frame. */
function quoteResource(server: string, uri: string, mimeType: unknown, text: string): string {
  const plain = plainText(text).trimEnd();
  const bytes = Buffer.from(plain);
  const isCut = bytes.length > MAX_TEXT_BYTES;
  const cut = isCut ? bytes.subarray(0, MAX_TEXT_BYTES).toString("utf8") : plain;
  const note = isCut ? `\n[… cut, ${bytes.length.toLocaleString("en-US")} bytes in total]` : "";
  const inert = cut.replaceAll(/<(?=\s{0,9}\/\s{0,9}mcp-resource\b)/gi, "&lt;");
  const type = typeof mimeType === "string" ? ` type=${JSON.stringify(plainLine(mimeType, 80))}` : "";
  return `<mcp-resource server=${JSON.stringify(server)} uri=${JSON.stringify(uri)}${type}>\n${inert}${note}\n</mcp-resource>`;
}

type Image = Extract<Block, { type: "image" }>;

/** A text with its resources after it: a text during a run is one message. */
export function withResources(
  text: string,
  images: readonly Image[] | undefined,
  { content }: NamedResources,
): { text: string; images: Image[] } {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const more = content.filter((block) => block.type === "image");
  return { text: [text, ...texts].join("\n\n"), images: [...(images ?? []), ...more] };
}
