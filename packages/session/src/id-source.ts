import { randomHex } from "./random-hex.ts";

/** An odd number near 2^32 / golden ratio: its multiples meet every 32-bit number once. */
const STEP = 0x9e3779b1;

/**
 * New entry ids, of which no two are the same. They walk through all 32-bit numbers from a random start, so
 * that nobody needs to remember them, and two processes on one file hardly ever meet.
 */
export class IdSource {
  #value = Number.parseInt(randomHex(4), 16);
  readonly #prefix = randomHex(4);

  /** 8 hexadecimal characters. */
  short(): string {
    this.#value = (this.#value + STEP) >>> 0;
    return this.#value.toString(16).padStart(8, "0");
  }

  /** 16 hexadecimal characters, for a file whose ids are not all known. */
  long(): string {
    return this.#prefix + this.short();
  }
}
