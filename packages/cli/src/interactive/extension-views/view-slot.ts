import type { DrawnComponent } from "@bonsai-agent/extension";
import type { Component } from "../terminal/tui.ts";
import { drawnLines } from "./drawn-lines.ts";

export interface ViewSlotOptions {
  drawn: DrawnComponent;
  /** More would push the chat away. */
  mostLines: number;
  /** Stands there where the component has failed. Default: nothing. */
  instead?: Component | undefined;
}

/** A component of an extension that stands beside the chat. */
export class ViewSlot implements Component {
  readonly #options: ViewSlotOptions;

  constructor(options: ViewSlotOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const { drawn, mostLines, instead } = this.#options;
    const lines = drawn.render(width);
    if (lines === undefined) return instead?.render(width) ?? [];
    return drawnLines(lines.slice(0, mostLines), width).slice(0, mostLines);
  }

  invalidate(): void {
    this.#options.drawn.invalidate();
    this.#options.instead?.invalidate();
  }

  dispose(): void {
    this.#options.drawn.dispose();
  }
}
