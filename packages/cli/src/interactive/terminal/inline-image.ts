import {
  allocateImageId,
  getCapabilities,
  getCellDimensions,
  getImageDimensions,
  renderImage,
} from "@earendil-works/pi-tui";

export interface InlineImage {
  /** Base64. */
  data: string;
  mimeType: string;
  widthPx: number;
  heightPx: number;
  /** The terminal's id of the image. */
  id: number;
}

interface InlineImageSpace {
  maxColumns: number;
  maxRows: number;
  /** Free columns before it. */
  indent: number;
}

/** 3 MB. A larger image takes too long to send. */
const MAX_BASE64_CHARS = 4_000_000;
/** The size of a photo can follow its metadata. */
const HEAD_CHARS = 400_000;

/** @returns undefined for an invalid or too large image */
export function inlineImage(data: unknown, mimeType: unknown): InlineImage | undefined {
  if (typeof data !== "string" || typeof mimeType !== "string") return undefined;
  // Other characters would reach the terminal.
  if (data.length > MAX_BASE64_CHARS || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return undefined;
  const size = imageSize(data, mimeType);
  if (size === undefined || size.widthPx < 1 || size.heightPx < 1) return undefined;
  return { data, mimeType, ...size, id: allocateImageId() };
}

/** The size that an image declares. @param data base64 */
export function imageSize(data: string, mimeType: string): { widthPx: number; heightPx: number } | undefined {
  return getImageDimensions(data.slice(0, HEAD_CHARS), mimeType) ?? undefined;
}

/** The image as lines, one for each row; one of them draws. @returns undefined if the terminal cannot draw it */
export function inlineImageLines(image: InlineImage, space: InlineImageSpace): string[] | undefined {
  const isKitty = getCapabilities().images === "kitty";
  // Kitty's protocol only knows PNG.
  if (isKitty && image.mimeType !== "image/png") return undefined;
  const { maxColumns, maxRows: maxHeightCells, indent } = space;
  // The library would enlarge a small image.
  const maxWidthCells = Math.min(maxColumns, Math.ceil(image.widthPx / getCellDimensions().widthPx));
  const options = { maxWidthCells, maxHeightCells, imageId: image.id, moveCursor: false };
  const drawn = renderImage(image.data, image, options);
  if (drawn === null) return undefined;
  const { sequence, columns, rows } = drawn;
  const right = indent > 0 ? `\x1b[${indent}C` : "";
  if (isKitty) return [right + sequence, ...Array.from({ length: rows - 1 }, () => "")];
  // iTerm2 draws from the last line upwards. Another size needs other lines, so that all of them are drawn again.
  const free = `\x1b]8;id=${image.id}-${columns}x${rows};\x07`;
  const up = rows > 1 ? `\x1b[${rows - 1}A` : "";
  return [...Array.from({ length: rows - 1 }, () => free), `\x1b7${up}${right}${sequence}\x1b8`];
}

/** True for a line that draws an image: its width cannot be measured. */
export function drawsImage(line: string): boolean {
  return line.startsWith("\x1b7") || line.includes("\x1b_G");
}
