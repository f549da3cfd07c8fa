import {
  allocateImageId,
  encodeITerm2,
  encodeKitty,
  getCapabilities,
  getCellDimensions,
  getImageDimensions,
} from "@earendil-works/pi-tui";

/** An image that terminals can draw among their lines. */
export interface InlineImage {
  /** Base64, and nothing but that. */
  data: string;
  mimeType: string;
  widthPx: number;
  heightPx: number;
  /** By which a terminal knows it again. */
  id: number;
}

interface InlineImageSpace {
  maxColumns: number;
  maxRows: number;
  /** Columns that stay free before it. */
  indent: number;
}

/** More takes longer to be sent than anybody waits for: 3 MB of bytes. */
const MAX_BASE64_CHARS = 4_000_000;
/** A small file can hold more pixels than a terminal has memory for. */
const MAX_PIXELS = 50_000_000;
/** Where the sizes stand; of photos, behind their metadata. */
const HEAD_CHARS = 400_000;

/** @returns undefined for what is no image, is broken, or is too large to be drawn */
export function inlineImage(data: unknown, mimeType: unknown): InlineImage | undefined {
  if (typeof data !== "string" || typeof mimeType !== "string") return undefined;
  if (data.length > MAX_BASE64_CHARS || !isBase64(data)) return undefined;
  const size = imageSize(data, mimeType);
  if (size === undefined || size.widthPx * size.heightPx > MAX_PIXELS) return undefined;
  if (size.widthPx < 1 || size.heightPx < 1 || !hasItsEnd(data, mimeType)) return undefined;
  return { data, mimeType, ...size, id: allocateImageId() };
}

/** The size in pixels that an image says it has. @param data base64 */
export function imageSize(data: string, mimeType: string): { widthPx: number; heightPx: number } | undefined {
  return getImageDimensions(data.slice(0, HEAD_CHARS), mimeType) ?? undefined;
}

/** Whatever else stands in it would reach the terminal as it is. */
function isBase64(data: string): boolean {
  return data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** Of a file that was cut off, terminals draw nothing. */
function hasItsEnd(data: string, mimeType: string): boolean {
  return mimeType !== "image/png" || Buffer.from(data.slice(-64), "base64").includes("IEND");
}

/**
 * The image as lines, one for each row that it takes; only one of them draws. @returns undefined where the terminal
 * cannot draw it
 */
export function inlineImageLines(image: InlineImage, space: InlineImageSpace): string[] | undefined {
  const { images: protocol } = getCapabilities();
  const { columns, rows } = sizeInCells(image, space);
  const right = space.indent > 0 ? `\x1b[${space.indent}C` : "";
  if (protocol === "kitty") {
    // The protocol knows no other format.
    if (image.mimeType !== "image/png") return undefined;
    const drawn = encodeKitty(image.data, { columns, rows, imageId: image.id, moveCursor: false });
    return [right + drawn, ...Array.from({ length: rows - 1 }, () => "")];
  }
  if (protocol !== "iterm2") return undefined;
  // It draws from the last line upwards; its lines are those of this size alone, so that another size draws them all.
  const free = `\x1b]8;id=${image.id}-${columns}x${rows};\x07`;
  const up = rows > 1 ? `\x1b[${rows - 1}A` : "";
  const drawn = encodeITerm2(image.data, { width: columns, height: rows });
  return [...Array.from({ length: rows - 1 }, () => free), `\x1b7${up}${right}${drawn}\x1b8`];
}

/** True for a line that draws an image: it has no width that could be measured. */
export function drawsImage(line: string): boolean {
  return line.startsWith("\x1b7") || line.includes("\x1b_G");
}

/** As large as it is, or smaller. */
function sizeInCells(
  { widthPx, heightPx }: InlineImage,
  { maxColumns, maxRows }: InlineImageSpace,
): { columns: number; rows: number } {
  const cell = getCellDimensions();
  const width = widthPx / cell.widthPx;
  const height = heightPx / cell.heightPx;
  const scale = Math.min(1, maxColumns / width, maxRows / height);
  const cells = (size: number, most: number) =>
    Math.max(1, Math.min(Math.floor(most), Math.round(size * scale)));
  return { columns: cells(width, maxColumns), rows: cells(height, maxRows) };
}
