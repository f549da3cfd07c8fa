import { createHash } from "node:crypto";
import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import { imageSize } from "../terminal/inline-image.ts";

/** Finds the marks of images in a text. No blanks: a line is not broken within one. */
export const imageMark = /\[image-(?:\d+x\d+-)?[0-9a-f]{8}\]/g;

/** Owner of images without a file, by their marks in the text. The same image has the same mark in every session. */
export class PastedImages {
  readonly #images = new Map<string, ImageContent>();

  /** Keeps an image until the program ends. @returns its mark, like `[image-640x480-3fa2c1d0]` */
  hold(image: ImageContent): string {
    const mark = markOf(image);
    this.#images.set(mark, image);
    return mark;
  }

  /** The images of a text's marks, each once. @throws BonsaiError `image_gone` for a mark of an earlier run */
  in(text: string): ImageContent[] {
    const marks = new Set(Array.from(text.matchAll(imageMark), ([mark]) => mark));
    return [...marks].map((mark) => this.#images.get(mark) ?? gone(mark));
  }
}

export function markOf({ data, mimeType }: ImageContent): string {
  const id = createHash("sha256").update(data).digest("hex").slice(0, 8);
  const size = imageSize(data, mimeType);
  return size === undefined ? `[image-${id}]` : `[image-${size.widthPx}x${size.heightPx}-${id}]`;
}

function gone(mark: string): never {
  throw new BonsaiError({
    code: "image_gone",
    message: `The image ${mark} is gone. Bonsai keeps pasted images until it quits.`,
    hint: "Paste the image again or delete the mark.",
  });
}
