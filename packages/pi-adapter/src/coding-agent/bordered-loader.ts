import { DynamicBorder } from "./drawing.ts";

interface Colours {
  fg(color: string, text: string): string;
}

interface Screen {
  requestRender?(): void;
}

/** As a terminal sends it, also one that tells keys apart by numbers. Loading the terminal library for it takes long. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with one
const isEscape = /^\x1b(?:\[27(?:;1(?::1)?)?u)?$/;

/** A message between two lines while something is waited for; Escape aborts its signal. */
export class BorderedLoader {
  readonly #controller = new AbortController();
  readonly #border: DynamicBorder;
  readonly #lines: string[];
  readonly #cancellable: boolean;
  onAbort: (() => void) | undefined;

  constructor(
    _screen: Screen,
    theme: Colours,
    message: string,
    { cancellable = true }: { cancellable?: boolean } = {},
  ) {
    this.#cancellable = cancellable;
    this.#border = new DynamicBorder((text) => theme.fg("border", text));
    this.#lines = [message, ...(cancellable ? [theme.fg("dim", "Esc to cancel")] : [])];
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  handleInput(data: string): void {
    if (!this.#cancellable || !isEscape.test(data)) return;
    this.#controller.abort();
    this.onAbort?.();
  }

  render(width: number): string[] {
    const border = this.#border.render(width);
    return [...border, ...this.#lines.map((line) => ` ${line}`), ...border];
  }

  invalidate(): void {}
  dispose(): void {}
}
