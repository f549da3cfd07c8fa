import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionToolResult, imageProblem, outputFolder } from "@bonsai-agent/extension";
import { plainLine, plainText } from "./foreign-text.ts";

/** A text or an image for the model. */
export type Block = ExtensionToolResult["content"][number];

/** The limit of the tool `read`. */
const MAX_IMAGE_BYTES = 5 << 20;

export function textBlock(text: string): Block {
  return { type: "text", text };
}

/** Reads one part of a tool's result or of a prompt. */
export function contentBlocks(part: unknown): Block[] {
  const { type, ...given } = (part ?? {}) as Record<string, unknown>;
  switch (type) {
    case "text":
      return typeof given.text === "string" ? [textBlock(plainText(given.text))] : [];
    case "image":
    case "audio":
      return [mediaBlock(given.data, given.mimeType, type)];
    case "resource":
      return embeddedBlocks(given.resource);
    case "resource_link":
      return [textBlock(linkText(given))];
    default:
      return [textBlock(`[omitted a part of unknown type ${plainLine(String(type), 40)}]`)];
  }
}

function embeddedBlocks(resource: unknown): Block[] {
  const { uri, text, blob, mimeType } = (resource ?? {}) as Record<string, unknown>;
  const name = plainLine(String(uri), 500);
  if (typeof text === "string") return [textBlock(`[resource ${name}]\n${plainText(text)}`)];
  return [textBlock(`[resource ${name}]`), mediaBlock(blob, mimeType, "resource")];
}

function linkText({ uri, name, description, mimeType }: Record<string, unknown>): string {
  const about = [name, mimeType, description]
    .filter((each): each is string => typeof each === "string" && each !== "")
    .map((each) => plainLine(each));
  return `[link to the resource ${plainLine(String(uri), 500)}${about.length > 0 ? `: ${about.join(", ")}` : ""}]`;
}

/** Returns an image that models accept. Everything else becomes a file. */
export function mediaBlock(data: unknown, mimeType: unknown, kind: string): Block {
  if (typeof data !== "string") return textBlock(`[${kind} without data]`);
  const bytes = Buffer.from(data, "base64");
  const type = typeof mimeType === "string" ? plainLine(mimeType, 80) : "of unknown type";
  if (bytes.length === 0) return textBlock(`[${kind}, ${type}: empty]`);
  const image = imageType(bytes);
  const problem = image === undefined ? undefined : imageProblem(bytes);
  if (image !== undefined && problem === undefined && bytes.length <= MAX_IMAGE_BYTES)
    return { type: "image", data: bytes.toString("base64"), mimeType: image };
  const reason = problem === undefined ? "" : `not shown, ${problem}; `;
  const size = bytes.length.toLocaleString("en-US");
  return textBlock(`[${kind}, ${type}, ${size} bytes: ${reason}${saveBlob(bytes, endingOf(type))}]`);
}

/** Reads the type from the bytes: a provider refuses the whole request for a wrong type. */
function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString("latin1", 0, 12);
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(start)) return "image/gif";
  return /^RIFF.{4}WEBP/s.test(start) ? "image/webp" : undefined;
}

/** The file ending for a type: `wav` for `audio/x-wav`, `svg` for `image/svg+xml`. */
function endingOf(mimeType: string): string {
  const [, subtype = "bin"] = /^\w+\/(?:x-)?([a-z0-9]{1,8})(?:[+;]|$)/.exec(mimeType) ?? [];
  return subtype === "plain" ? "txt" : subtype;
}

/** Saved bytes of all results of this process. */
const MAX_SAVED_BYTES = 1 << 30;
let savedBytes = 0;

/** Saves bytes for the agent to read. Returns the place, or the reason why there is none. */
export function saveBlob(bytes: Buffer, ending: string): string {
  if (savedBytes + bytes.length > MAX_SAVED_BYTES)
    return "not saved: the results saved so far have reached 1 GB";
  savedBytes += bytes.length;
  try {
    const path = join(outputFolder(), `${randomUUID()}.${ending}`);
    writeFileSync(path, bytes, { flag: "wx", mode: 0o600 });
    return `saved in ${path}`;
  } catch (error) {
    return `could not be saved: ${(error as Error).message}`;
  }
}
