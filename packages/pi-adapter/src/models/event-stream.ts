/** Events that somebody pushes and others read, each from the first one on; the last one carries the result. */
export class EventStream<Event, Result = Event> implements AsyncIterable<Event> {
  readonly #events: Event[] = [];
  readonly #isLast: (event: Event) => boolean;
  readonly #resultOf: (event: Event) => Result;
  readonly #result = Promise.withResolvers<Result>();
  #isEnded = false;
  #news = Promise.withResolvers<void>();

  constructor(isLast: (event: Event) => boolean, resultOf: (event: Event) => Result) {
    this.#isLast = isLast;
    this.#resultOf = resultOf;
    // Who only reads the events must not be told of a failure twice.
    this.#result.promise.catch(() => {});
  }

  /** What comes after the end is dropped. */
  push(event: Event): void {
    if (this.#isEnded) return;
    this.#events.push(event);
    if (this.#isLast(event)) this.end(this.#resultOf(event));
    else this.#tell();
  }

  /** Without a result, the result of a stream that had none rejects. */
  end(result?: Result): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (result === undefined) this.#result.reject(new Error("The stream ended without an answer."));
    else this.#result.resolve(result);
    this.#tell();
  }

  result(): Promise<Result> {
    return this.#result.promise;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Event> {
    for (let at = 0; ; ) {
      while (at < this.#events.length) yield this.#events[at++]!;
      if (this.#isEnded) return;
      await this.#news.promise;
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}
