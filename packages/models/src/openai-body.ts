/** How long a server may take to close an answer that is complete; then its connection is given up. */
const END_GRACE_MS = 1_000;
/** More than a line with `[DONE]` has. */
const TAIL_BYTES = 64;

/**
 * The body of a streamed answer on its way to the SDK, which closes it at `[DONE]` and thereby gives up a connection
 * that could be used again. Owner of whether the server said `[DONE]`, and of how its end is waited for.
 */
export class OpenAiBody {
  readonly stream: ReadableStream<Uint8Array>;
  #saidDone = false;
  #tail = "\n";
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #givenUp = Promise.withResolvers<{ done: true; value?: undefined }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(source: ReadableStream<Uint8Array>) {
    this.#reader = source.getReader();
    this.stream = new ReadableStream({
      pull: async (controller) => {
        const { value } = await this.#read();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => {
        if (!this.#saidDone) return this.#reader.cancel(reason);
        void this.#drain();
      },
    });
  }

  /** True when the server closed its stream with `[DONE]`. */
  get saidDone(): boolean {
    return this.#saidDone;
  }

  /** Says that the answer is complete: from now on the end is waited for only a moment. */
  expectEnd(): void {
    this.#timer ??= setTimeout(() => this.#givenUp.resolve({ done: true }), END_GRACE_MS);
    this.#timer.unref();
  }

  /** The next part; without a value at the end. */
  async #read(): Promise<{ value?: Uint8Array | undefined }> {
    const part = await Promise.race([this.#reader.read(), this.#givenUp.promise]);
    if (part.value !== undefined) this.#look(part.value);
    if (!part.done) return part;
    clearTimeout(this.#timer);
    // Nothing to do at a real end; else it closes the connection.
    await this.#reader.cancel();
    return part;
  }

  async #drain(): Promise<void> {
    this.expectEnd();
    try {
      while ((await this.#read()).value !== undefined);
    } catch {
      // The answer is complete: how its connection ends is of no interest.
      clearTimeout(this.#timer);
    }
  }

  /** A line of its own: inside JSON a line break is escaped. */
  #look(part: Uint8Array): void {
    const end = Buffer.from(part.buffer, part.byteOffset, part.byteLength).subarray(-TAIL_BYTES);
    this.#tail = `${this.#tail}${end.toString("latin1")}`.slice(-TAIL_BYTES);
    if (/[\r\n]data:\s*\[DONE\]/.test(this.#tail)) this.#saidDone = true;
  }
}
