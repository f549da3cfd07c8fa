export type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** How a text file is written. */
export interface TextFormat {
  encoding: TextEncoding;
  /** Length of the byte-order mark; 0 without one. */
  bomBytes: number;
}

/** What a byte-order mark says. */
export function formatOfBom(head: Buffer): TextFormat | undefined {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: "utf-8", bomBytes: 3 };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: "utf-16le", bomBytes: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: "utf-16be", bomBytes: 2 };
  return undefined;
}

/**
 * UTF-16 without a mark, told by where the zeros stand: Western text has one in every second byte and, unlike
 * binary data, hardly any in the other.
 */
export function unmarkedUtf16(head: Buffer): TextFormat | undefined {
  const pairs = head.length >> 1;
  if (pairs < 2) return undefined;
  const zeros = [0, 0];
  for (let at = 0; at < pairs * 2; at += 1) if (head[at] === 0) zeros[at & 1]! += 1;
  const [even, odd] = zeros as [number, number];
  if (odd > pairs * 0.7 && even < pairs * 0.05) return { encoding: "utf-16le", bomBytes: 0 };
  if (even > pairs * 0.7 && odd < pairs * 0.05) return { encoding: "utf-16be", bomBytes: 0 };
  return undefined;
}

/** Whether it is UTF-8; a character cut off at the end is no fault, for the head of a file may end anywhere. */
export function isUtf8(head: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The text without its mark. Throws a TypeError at bytes that the encoding does not have. */
export function decodeText(bytes: Buffer, { encoding, bomBytes }: TextFormat): string {
  return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes.subarray(bomBytes));
}

/** The bytes of a text, with the mark again where there was one. Windows-1252 is never written. */
export function encodeText(text: string, { encoding, bomBytes }: TextFormat): Buffer {
  const marked = bomBytes > 0 ? `\ufeff${text}` : text;
  if (encoding === "utf-16le") return Buffer.from(marked, "utf16le");
  if (encoding === "utf-16be") return Buffer.from(marked, "utf16le").swap16();
  return Buffer.from(marked);
}
