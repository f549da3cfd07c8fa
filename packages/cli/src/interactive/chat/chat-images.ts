import { type InlineImage, inlineImage } from "../terminal/inline-image.ts";

interface ImageHolder {
  /** One of its images is no longer drawn. */
  invalidate(): void;
}

const MAX_IMAGES = 12;
/** Each full frame sends all of them again. */
const MAX_TOTAL_CHARS = 8_000_000;

/** Chooses the drawn images of the chat: the latest, up to a number and a size. */
export class ChatImages {
  readonly #terminalRows: () => number;
  /** Oldest first. */
  #held: { holder: ImageHolder; image: InlineImage }[] = [];
  /** By content block: a block that is shown again keeps its image. */
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

  /** Replaces the images of a holder. Older images may be dropped. */
  hold(holder: ImageHolder, blocks: readonly Record<string, unknown>[]): (InlineImage | undefined)[] {
    const images = blocks.map((block) => this.#imageOf(block));
    this.#held = this.#held.filter((held) => held.holder !== holder);
    for (const image of images) if (image !== undefined) this.#held.push({ holder, image });
    while (this.#held.length > MAX_IMAGES || this.#heldChars > MAX_TOTAL_CHARS)
      this.#held.shift()?.holder.invalidate();
    return images;
  }

  get #heldChars(): number {
    return this.#held.reduce((sum, { image }) => sum + image.data.length, 0);
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
