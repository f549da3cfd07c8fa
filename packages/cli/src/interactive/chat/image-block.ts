import { contentBlocks } from "@bonsai-agent/messages";
import { bytes } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { type InlineImage, inlineImageLines } from "../terminal/inline-image.ts";
import type { Style } from "../terminal/theme.ts";
import { ChatBlock } from "./chat-block.ts";
import { wrapped } from "./chat-text.ts";

interface ImageLook {
  style: Style;
  /** Applied to a line of text for an image. Default: none. */
  ground?: Style;
  /** Default a space. */
  indent?: string;
}

/** Number of images that a folded block draws. The others are lines of text. */
const FOLDED_IMAGES = 2;

/** A block with images. An image that the terminal cannot draw is a line of text. */
export abstract class ImageBlock extends ChatBlock {
  #images: { block: Record<string, unknown>; image: InlineImage | undefined }[] = [];

  protected setImages(content: unknown): void {
    const blocks = contentBlocks(content).filter(({ type }) => type === "image");
    if (blocks.length === 0 && this.#images.length === 0) return;
    const images = this.looks.images.hold(this, blocks);
    this.#images = blocks.map((block, at) => ({ block, image: images[at] }));
  }

  protected override get rows(): number {
    return this.#images.length === 0 ? 0 : this.looks.images.terminalRows;
  }

  protected imageLines(width: number, { style, ground = (line) => line, indent = " " }: ImageLook): string[] {
    const space = { ...this.#imageSize(width - indent.length - 1), indent: indent.length };
    let drawnCount = 0;
    return this.#images.flatMap(({ block, image }) => {
      const isOver = !this.isExpanded && drawnCount >= FOLDED_IMAGES;
      const canDraw = image !== undefined && !isOver && this.looks.images.isHeld(image, this);
      const drawn = canDraw ? inlineImageLines(image, space) : undefined;
      if (drawn !== undefined) drawnCount += 1;
      return drawn ?? wrapped([imageMarker(block)], width, style, indent).map(ground);
    });
  }

  #imageSize(columns: number): { maxColumns: number; maxRows: number } {
    const { isExpanded, rows } = this;
    const maxRows = isExpanded ? Math.min(32, rows - 8) : Math.min(10, Math.floor(rows / 3));
    return {
      maxColumns: Math.max(1, Math.min(columns, isExpanded ? 100 : 40)),
      maxRows: Math.max(2, maxRows),
    };
  }
}

/** `[image image/png 34 kB]`. */
export function imageMarker({ data, mimeType }: Record<string, unknown>): string {
  const size = typeof data === "string" ? ` ${bytes(base64Bytes(data))}` : "";
  return `[image${typeof mimeType === "string" ? ` ${oneLine(mimeType, 40)}` : ""}${size}]`;
}

function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}
