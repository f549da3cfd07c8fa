import { formatOfBom, isUtf8, type TextFormat, unmarkedUtf16 } from "./text-encoding.ts";

/** Enough for every signature, and for a fair look at whether it is text. */
export const HEAD_BYTES = 4_100;

/** What providers take. */
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export type FileKind =
  | ({ kind: "text" } & TextFormat)
  | { kind: "image"; mimeType: string }
  | { kind: "binary"; what: string };

/** Tells by the first bytes; a file's name says nothing. */
export async function fileKind(head: Buffer): Promise<FileKind> {
  const marked = formatOfBom(head);
  if (marked !== undefined) return { kind: "text", ...marked };
  const isPlain = !head.includes(0) && isUtf8(head);
  if (isPlain && !head.subarray(0, 5).equals(Buffer.from("%PDF-"))) {
    return { kind: "text", encoding: "utf-8", bomBytes: 0 };
  }
  const mimeType = await signature(head);
  if (mimeType !== undefined) {
    return imageTypes.includes(mimeType) ? { kind: "image", mimeType } : { kind: "binary", what: mimeType };
  }
  const utf16 = unmarkedUtf16(head);
  if (utf16 !== undefined) return { kind: "text", ...utf16 };
  if (isWestern(head)) return { kind: "text", encoding: "windows-1252", bomBytes: 0 };
  return { kind: "binary", what: "unknown binary data" };
}

/** Loaded when a file is not plainly text: most never need it. */
async function signature(head: Buffer): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import("file-type");
  const type = await fileTypeFromBuffer(head);
  return type?.mime;
}

/** Text of the time before UTF-8: no control characters but those that lay a text out. */
function isWestern(head: Buffer): boolean {
  return head.every((byte) => byte >= 0x20 || byte === 9 || byte === 10 || byte === 12 || byte === 13);
}
