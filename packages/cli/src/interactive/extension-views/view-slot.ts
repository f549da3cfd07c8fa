import type { DrawnComponent } from "@bonsai-agent/extension";
import type { Component } from "../terminal/tui.ts";
import { drawnLines } from "./drawn-lines.ts";

export interface ViewSlotOptions {
  drawn: DrawnComponent;
  /** More would push the chat away. */
  mostLines: number;
  redraw: () => void;
  /** Stands there where the component has failed. Default: nothing. */
  instead?: Component | undefined;
}

/** A component that takes longer is not asked in every frame: a key would wait for it. */
const slowMs = 4;
/** For so many times as long as it took, what it drew last stays. */
const restFactor = 10;

/** A component of an extension that stands beside the chat. */
export class ViewSlot implements Component {
  readonly #options: ViewSlotOptions;
  #last: { lines: string[]; width: number; untilMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewSlotOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const { drawn, mostLines, instead } = this.#options;
    const startedMs = performance.now();
    if (this.#last?.width === width && startedMs < this.#last.untilMs) return this.#later(this.#last);
    const rendered = drawn.render(width);
    if (rendered === undefined) return instead?.render(width) ?? [];
    const lines = drawnLines(rendered.slice(0, mostLines), width).slice(0, mostLines);
    this.#rest({ lines, width, startedMs });
    return lines;
  }

  invalidate(): void {
    this.#last = undefined;
    this.#options.drawn.invalidate();
    this.#options.instead?.invalidate();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#options.drawn.dispose();
  }

  #rest({ lines, width, startedMs }: { lines: string[]; width: number; startedMs: number }): void {
    const endedMs = performance.now();
    const tookMs = endedMs - startedMs;
    this.#last = tookMs < slowMs ? undefined : { lines, width, untilMs: endedMs + tookMs * restFactor };
  }

  /** What it would draw now is drawn once it may be asked again. */
  #later({ lines, untilMs }: { lines: string[]; untilMs: number }): string[] {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.redraw();
    }, untilMs - performance.now()).unref();
    return lines;
  }
}
