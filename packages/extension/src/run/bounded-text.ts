/** What a program wrote, up to a bound: head and tail of more, for errors stand at the end. */
export class BoundedText {
  readonly #mostBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #leftOutBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  push(bytes: Buffer): void {
    const half = this.#mostBytes / 2;
    const room = Math.max(0, half - this.#headBytes);
    const first = bytes.subarray(0, room);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = bytes.subarray(room);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Not at every piece: most programs write in small ones.
    if (this.#tailBytes > 2 * half) this.#shorten(half);
  }

  /** All of it as text. Bytes that are no UTF-8, also where it was cut, become U+FFFD. */
  end(): string {
    this.#shorten(this.#mostBytes / 2);
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#leftOutBytes === 0) return Buffer.concat([head, tail]).toString("utf8");
    const note = `\n[… ${this.#leftOutBytes.toLocaleString("en")} bytes left out …]\n`;
    return wholeEnd(head) + note + wholeStart(tail);
  }

  #shorten(mostBytes: number): void {
    if (this.#tailBytes <= mostBytes) return;
    const tail = Buffer.concat(this.#tail);
    this.#leftOutBytes += tail.length - mostBytes;
    this.#tail = [tail.subarray(tail.length - mostBytes)];
    this.#tailBytes = mostBytes;
  }
}

/** Without the first bytes of a character whose others are missing. */
function wholeEnd(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Without the last bytes of a character whose first are missing. */
function wholeStart(bytes: Buffer): string {
  let from = 0;
  while (from < 3 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString("utf8");
}
