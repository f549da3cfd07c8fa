import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { PhotonImage } from "@silvia-odwyer/photon-node";

type Photon = typeof import("@silvia-odwyer/photon-node");

interface ResizeOptions {
  /** Pixels. Default 2000. */
  maxWidth?: number;
  /** Pixels. Default 2000. */
  maxHeight?: number;
  /** Size of the text in base64. Default: 4.5 MiB, below the limit of providers. */
  maxBytes?: number;
  /** Default 80. */
  jpegQuality?: number;
}

interface ResizedImage {
  /** In base64. */
  data: string;
  mimeType: string;
  originalWidth: number;
  originalHeight: number;
  width: number;
  height: number;
  wasResized: boolean;
}

const MAX_BYTES = 4.5 * 1024 * 1024;
/** Each step is three quarters of the last: after them, an image of 2000 pixels is one pixel wide. */
const MAX_STEPS = 30;

/** The image within bounds; null for bytes that are no image, or that no size makes small enough. */
export async function resizeImage(
  bytes: Uint8Array,
  mimeType: string,
  options: ResizeOptions = {},
): Promise<ResizedImage | null> {
  const photon = loadPhoton();
  let image: PhotonImage | undefined;
  try {
    image = photon.PhotonImage.new_from_byteslice(new Uint8Array(bytes));
    return fitted(photon, image, { ...options, data: Buffer.from(bytes).toString("base64"), mimeType });
  } catch {
    return null;
  } finally {
    image?.free();
  }
}

function fitted(
  photon: Photon,
  image: PhotonImage,
  { data, mimeType, ...options }: ResizeOptions & { data: string; mimeType: string },
): ResizedImage | null {
  const { maxWidth = 2_000, maxHeight = 2_000, maxBytes = MAX_BYTES, jpegQuality = 80 } = options;
  const [originalWidth, originalHeight] = [image.get_width(), image.get_height()];
  const original = { originalWidth, originalHeight };
  let scale = Math.min(1, maxWidth / originalWidth, maxHeight / originalHeight);
  if (scale === 1 && data.length < maxBytes)
    return { data, mimeType, ...original, width: originalWidth, height: originalHeight, wasResized: false };
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const [width, height] = [scaled(originalWidth, scale), scaled(originalHeight, scale)];
    const found = smallest(photon, image, { width, height, maxBytes, quality: jpegQuality });
    if (found !== undefined) return { ...found, ...original, width, height, wasResized: true };
    scale *= 0.75;
  }
  return null;
}

const scaled = (pixels: number, scale: number): number => Math.max(1, Math.round(pixels * scale));

/** The smaller of both formats at the usual quality, else the first quality that fits. */
function smallest(
  photon: Photon,
  image: PhotonImage,
  { width, height, maxBytes, quality }: { width: number; height: number; maxBytes: number; quality: number },
): Pick<ResizedImage, "data" | "mimeType"> | undefined {
  const resized = photon.resize(image, width, height, photon.SamplingFilter.Lanczos3);
  try {
    const jpeg = (at: number) => encoded(resized.get_bytes_jpeg(at), "image/jpeg");
    const usual = [encoded(resized.get_bytes(), "image/png"), jpeg(quality)];
    const candidates = usual.sort((a, b) => a.data.length - b.data.length);
    const fitting = candidates.find(({ data }) => data.length < maxBytes);
    return fitting ?? [70, 55, 40].map(jpeg).find(({ data }) => data.length < maxBytes);
  } finally {
    resized.free();
  }
}

function encoded(bytes: Uint8Array, mimeType: string): Pick<ResizedImage, "data" | "mimeType"> {
  return { data: Buffer.from(bytes).toString("base64"), mimeType };
}

let loaded: Photon | undefined;

/** The library reads its WebAssembly file beside itself: the command has it as files, not in its bundle. */
function loadPhoton(): Photon {
  const shipped = fileURLToPath(new URL("./photon/photon_rs.js", import.meta.url));
  const name = existsSync(shipped) ? shipped : "@silvia-odwyer/photon-node";
  loaded ??= createRequire(import.meta.url)(name) as Photon;
  return loaded;
}
