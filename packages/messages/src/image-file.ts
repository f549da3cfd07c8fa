import { count } from "./text/screen-text.ts";

/** Anthropic refuses a whole request if a side of an image is longer. */
const MAX_IMAGE_SIDE = 8_000;

/** Facts from an image file's header and end. */
interface ImageFacts {
  /** Absent if the file has no size. */
  widthPx?: number | undefined;
  heightPx?: number | undefined;
  /** False for a file that was cut off. */
  isComplete: boolean;
}

/**
 * Says why providers would refuse an image: its sides are too long, or the file is incomplete. Returns undefined for
 * a sound image and for other formats.
 */
export function imageProblem(bytes: Uint8Array): string | undefined {
  const facts = imageFacts(bytes);
  if (facts === undefined) return undefined;
  const { widthPx, heightPx, isComplete } = facts;
  if (!isComplete) return "the file is incomplete: it ends before the image does";
  if (widthPx === undefined || heightPx === undefined) return undefined;
  if (widthPx < 1 || heightPx < 1) return "the image has no pixels";
  if (Math.max(widthPx, heightPx) <= MAX_IMAGE_SIDE) return undefined;
  return `it is ${count(widthPx)} x ${count(heightPx)} pixels, and providers accept at most ${count(MAX_IMAGE_SIDE)} on a side`;
}

function imageFacts(bytes: Uint8Array): ImageFacts | undefined {
  const head = latin(bytes, 0, 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return pngFacts(bytes, view);
  if (head.startsWith("\xff\xd8\xff")) return jpegFacts(bytes, view);
  if (/^GIF8[79]a/.test(head)) return gifFacts(bytes, view);
  return /^RIFF.{4}WEBP/s.test(head) ? webpFacts(bytes, view) : undefined;
}

function pngFacts(bytes: Uint8Array, view: DataView): ImageFacts {
  let isComplete = false;
  for (let at = 8; at + 12 <= bytes.length && !isComplete; at += 12 + view.getUint32(at))
    isComplete = latin(bytes, at + 4, 8 + at) === "IEND";
  const hasSize = bytes.length >= 24;
  return { isComplete, ...(hasSize && { widthPx: view.getUint32(16), heightPx: view.getUint32(20) }) };
}

/** Reads the size from a frame's header, before the pixels. Skips previews in metadata, which have their own headers. */
function jpegFacts(bytes: Uint8Array, view: DataView): ImageFacts {
  let size: Pick<ImageFacts, "widthPx" | "heightPx"> = {};
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) size = { heightPx: view.getUint16(at + 5), widthPx: view.getUint16(at + 7) };
    if (marker === 0xda) break;
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  let end = bytes.length - 2;
  while (end > at && !(bytes[end] === 0xff && bytes[end + 1] === 0xd9)) end -= 1;
  return { ...size, isComplete: end > at };
}

function gifFacts(bytes: Uint8Array, view: DataView): ImageFacts {
  let end = bytes.length - 1;
  while (end > 0 && bytes[end] === 0) end -= 1;
  const hasSize = bytes.length >= 10;
  return {
    isComplete: bytes[end] === 0x3b && end > 9,
    ...(hasSize && { widthPx: view.getUint16(6, true), heightPx: view.getUint16(8, true) }),
  };
}

function webpFacts(bytes: Uint8Array, view: DataView): ImageFacts {
  const isComplete = bytes.length >= view.getUint32(4, true) + 8;
  if (bytes.length < 30) return { isComplete };
  const wide = (at: number) => view.getUint16(at, true) + (bytes[at + 2]! << 16) + 1;
  switch (latin(bytes, 12, 16)) {
    case "VP8X":
      return { isComplete, widthPx: wide(24), heightPx: wide(27) };
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return { isComplete, widthPx: (bits & 0x3fff) + 1, heightPx: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return {
        isComplete,
        widthPx: view.getUint16(26, true) & 0x3fff,
        heightPx: view.getUint16(28, true) & 0x3fff,
      };
  }
}

function latin(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to));
}
