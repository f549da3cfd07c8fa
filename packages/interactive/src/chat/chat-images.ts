import { bytes } from "@bonsai-agent/app/numbers";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { contentBlocks } from "@bonsai-agent/messages";
import { type InlineImage, inlineImage, inlineImageLines } from "../terminal/inline-image.ts";
import type { Style } from "../terminal/theme.ts";
import { wrapped } from "./chat-text.ts";

/** Who shows images. */
interface ImageHolder {
  /** One of its images is no longer drawn. */
  invalidate(): void;
}

const MAX_IMAGES = 12;
/** Each frame that is drawn whole sends all of them again. */
const MAX_TOTAL_CHARS = 8_000_000;

/** Owner of which images of the chat are drawn: the latest, up to a number and a size. */
export class ChatImages {
  readonly #terminalRows: () => number;
  /** Oldest first. */
  #held: { holder: ImageHolder; image: InlineImage }[] = [];
  /** By the block of a message: what is shown anew is the same image. */
  readonly #images = new WeakMap<object, { image: InlineImage | undefined }>();

  constructor(terminalRows: () => number) {
    this.#terminalRows = terminalRows;
  }

  get terminalRows(): number {
    return this.#terminalRows();
  }

  clear(): void {
    this.#held = [];
  }

  /** What a holder shows from now on, in the place of what it showed; older ones may have to go. */
  hold(holder: ImageHolder, blocks: readonly Record<string, unknown>[]): (InlineImage | undefined)[] {
    const images = blocks.map((block) => this.#imageOf(block));
    this.#held = this.#held.filter((held) => held.holder !== holder);
    for (const image of images) if (image !== undefined) this.#held.push({ holder, image });
    const count = keptCount(this.#held.map(({ image }) => image.data.length));
    const letGo = this.#held.splice(0, this.#held.length - count);
    for (const each of new Set(letGo.map(({ holder }) => holder))) each.invalidate();
    return images;
  }

  isHeld(image: InlineImage, by: ImageHolder): boolean {
    return this.#held.some((held) => held.holder === by && held.image === image);
  }

  #imageOf(block: Record<string, unknown>): InlineImage | undefined {
    const known = this.#images.get(block) ?? { image: inlineImage(block.data, block.mimeType) };
    this.#images.set(block, known);
    return known.image;
  }
}

/** How many of the last there is room for. */
function keptCount(chars: readonly number[]): number {
  let total = 0;
  const from = chars.findLastIndex((each) => {
    total += each;
    return total > MAX_TOTAL_CHARS;
  });
  return Math.min(MAX_IMAGES, chars.length - from - 1);
}

interface BlockImagesLook {
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

/** `[image image/png 34 kB]` for the block of an image. */
export function imageMarker({ data, mimeType }: Record<string, unknown>): string {
  const size = typeof data === "string" ? ` ${bytes(base64Bytes(data))}` : "";
  return `[image${typeof mimeType === "string" ? ` ${oneLine(mimeType, 40)}` : ""}${size}]`;
}

function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}
