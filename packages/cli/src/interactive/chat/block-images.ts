import { contentBlocks } from "@bonsai-agent/messages";
import { type InlineImage, inlineImageLines } from "../terminal/inline-image.ts";
import type { Style } from "../theme/theme.ts";
import type { ChatImages, ImageHolder } from "./chat-images.ts";
import { wrapped } from "./chat-text.ts";
import { imageMarker } from "./image-marker.ts";

export interface BlockImagesLook {
  width: number;
  isExpanded: boolean;
  /** Of the lines that stand for images. */
  style: Style;
  /** Of the whole of such a line. Default: none. */
  ground?: Style;
  /** Default a space. */
  indent?: string;
}

/** Of one block, folded: the first images; the others are told. */
const FOLDED_IMAGES = 2;

/** The images of one block: drawn where the terminal can, else told in a line each. */
export class BlockImages {
  readonly #images: ChatImages;
  readonly #holder: ImageHolder;
  #shown: { block: Record<string, unknown>; image: InlineImage | undefined }[] = [];

  constructor(images: ChatImages, holder: ImageHolder) {
    this.#images = images;
    this.#holder = holder;
  }

  set(content: unknown): void {
    const blocks = contentBlocks(content).filter(({ type }) => type === "image");
    if (blocks.length === 0 && this.#shown.length === 0) return;
    const images = this.#images.hold(this.#holder, blocks);
    this.#shown = blocks.map((block, at) => ({ block, image: images[at] }));
  }

  /** What the lines depend on besides the width: how tall the terminal is, where there is an image. */
  get rows(): number {
    return this.#shown.length === 0 ? 0 : this.#images.terminalRows;
  }

  lines({ width, isExpanded, style, ground = (line) => line, indent = " " }: BlockImagesLook): string[] {
    const room = { ...imageRoom(width - indent.length - 1, this.rows, isExpanded), indent: indent.length };
    let drawnCount = 0;
    return this.#shown.flatMap(({ block, image }) => {
      const isOver = !isExpanded && drawnCount >= FOLDED_IMAGES;
      const canDraw = image !== undefined && !isOver && this.#images.isHeld(image, this.#holder);
      const drawn = canDraw ? inlineImageLines(image, room) : undefined;
      if (drawn !== undefined) drawnCount += 1;
      return drawn ?? wrapped([imageMarker(block)], width, style, indent).map(ground);
    });
  }
}

/** Folded, a look at it; open, as much as leaves room for the editor. */
function imageRoom(columns: number, terminalRows: number, isExpanded: boolean) {
  const maxRows = isExpanded ? Math.min(32, terminalRows - 8) : Math.min(10, Math.floor(terminalRows / 3));
  return {
    maxColumns: Math.max(1, Math.min(columns, isExpanded ? 100 : 40)),
    maxRows: Math.max(2, maxRows),
  };
}
