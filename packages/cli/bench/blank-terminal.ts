import type { Terminal } from "../src/interactive/terminal/tui.ts";

/** A terminal that draws nothing: it tells when a frame comes. */
export class BlankTerminal implements Terminal {
  readonly columns = 120;
  readonly rows = 40;
  readonly kittyProtocolActive = false;
  #onInput: ((data: string) => void) | undefined;
  readonly #looks = new Set<(data: string) => void>();
  #last = "";

  start(onInput: (data: string) => void): void {
    this.#onInput = onInput;
  }

  stop(): void {
    this.#onInput = undefined;
  }

  write(data: string): void {
    this.#last = data;
    for (const look of [...this.#looks]) look(data);
  }

  /** Sends text key by key, an escape sequence as one. */
  type(text: string): void {
    if (text.startsWith("\x1b")) this.#onInput?.(text);
    else for (const key of text) this.#onInput?.(key);
  }

  clearEditor(): void {
    this.type("\x15");
  }

  /** Resolves with the next frame that has this. */
  frameWith(text: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (data: string) => {
        if (!data.includes(text)) return;
        this.#looks.delete(look);
        resolve();
      };
      this.#looks.add(look);
    });
  }

  /** Waits for a frame that has this, the last one among them; false when none comes in time. */
  async until(text: string, timeoutMs = 30_000): Promise<boolean> {
    if (this.#last.includes(text)) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, timeoutMs, false);
    void this.frameWith(text).then(() => resolve(true));
    return promise.finally(() => clearTimeout(timer));
  }

  async drainInput(): Promise<void> {}
  moveBy(): void {}
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {}
  clearFromCursor(): void {}
  clearScreen(): void {}
  setTitle(): void {}
  setProgress(): void {}
}
