import { DEFAULT_MAX_BYTES, formatSize, truncateTail } from "./truncate.ts";

/** How much is held; cutting less often than the limit asks for makes it linear. */
const MAX_HELD_CHARS = 2 * DEFAULT_MAX_BYTES;

/** Owner of the end of an output, however long that is. */
export class OutputEnd {
  readonly #decoder = new TextDecoder();
  #held = "";
  #bytes = 0;
  #isCut = false;

  push(data: Uint8Array): void {
    this.#bytes += data.length;
    this.#held += this.#decoder.decode(data, { stream: true });
    if (this.#held.length <= MAX_HELD_CHARS) return;
    this.#held = truncateTail(this.#held).content;
    this.#isCut = true;
  }

  /** What a model may be shown of it. */
  get text(): string {
    const { content, truncated } = truncateTail(this.#held);
    if (!truncated && !this.#isCut) return content;
    return `[The last part of ${formatSize(this.#bytes)} of output]\n${content}`;
  }
}
