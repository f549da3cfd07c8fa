import type { DrawnComponent } from "@bonsai-agent/extension";
import type { Panel, Screen } from "../screen.ts";
import type { Focusable } from "../terminal/tui.ts";
import { drawnLines } from "./drawn-lines.ts";

/** What stays of the screen beside a component: the footer. */
const otherRows = 2;

/** A component of an extension, with the keys. */
export class CustomPanel implements Panel, Focusable {
  readonly #drawn: DrawnComponent;
  readonly #screen: Screen;

  constructor(drawn: DrawnComponent, screen: Screen) {
    this.#drawn = drawn;
    this.#screen = screen;
  }

  get focused(): boolean {
    return this.#drawn.focused;
  }

  set focused(isFocused: boolean) {
    this.#drawn.focused = isFocused;
  }

  get wantsKeyRelease(): boolean {
    return this.#drawn.wantsKeyRelease;
  }

  handleInput(data: string): void {
    this.#drawn.handleInput(data);
    this.#screen.redraw();
  }

  /** Of what is higher than the screen, the end, as a terminal would show it. */
  render(width: number): string[] {
    const lines = this.#drawn.render(width) ?? [];
    const rows = Math.max(3, this.#screen.rows - otherRows);
    return drawnLines(lines.slice(-rows), width).slice(-rows);
  }

  invalidate(): void {
    this.#drawn.invalidate();
  }
}
