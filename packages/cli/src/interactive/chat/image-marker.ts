import { bytes } from "../../views/numbers.ts";
import { oneLine } from "../../views/printable.ts";

/** `[image image/png 34 kB]` for the block of an image. */
export function imageMarker({ data, mimeType }: Record<string, unknown>): string {
  const size = typeof data === "string" ? ` ${bytes(base64Bytes(data))}` : "";
  return `[image${typeof mimeType === "string" ? ` ${oneLine(mimeType, 40)}` : ""}${size}]`;
}

function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}
