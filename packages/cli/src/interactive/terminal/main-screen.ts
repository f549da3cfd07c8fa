import { TuiMainScreen } from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";

/**
 * The library's renderer makes every line of a session anew for each frame, and compares it with the last frame's by its
 * characters. Here a line that has not changed stays the same string, so that a key costs the same in a long session.
 *
 * For an image at the end, it clears screen and scrollback and draws all anew. Here the rows of the image come first, and
 * scroll what is above them; then the image, into rows that are there.
 */
export class MainScreen extends TuiMainScreen {
  #given: readonly string[] = [];
  #made: readonly string[] = [];
  #size = "";
  /** True while images can come a frame later than their rows. */
  #canWait = false;
  #isWaiting = false;

  protected override doRender(): void {
    const size = `${this.terminal.columns}x${this.terminal.rows}`;
    this.#canWait = size === this.#size && this.#made.length > 0;
    this.#size = size;
    this.#isWaiting = false;
    super.doRender();
    this.#canWait = false;
    if (this.#isWaiting) super.doRender();
  }

  /** True while something that stands over the screen has the keys. */
  get isOverlaid(): boolean {
    return this.isOverlayFocused();
  }

  protected override applyLineResets(lines: string[]): string[] {
    const given = this.#canWait ? this.#withoutNewImages(lines) : lines;
    const made = given.map((line, at) =>
      line === this.#given[at] ? this.#made[at]! : super.applyLineResets([line])[0]!,
    );
    this.#given = given;
    this.#made = made;
    return made;
  }

  /** Those that are seen; what is above, the terminal cannot draw alone. */
  #withoutNewImages(lines: string[]): string[] {
    const top = lines.length - this.terminal.rows;
    return lines.map((line, at) => {
      if (at < top || line === this.#given[at] || !drawsImage(line)) return line;
      this.#isWaiting = true;
      return "";
    });
  }
}
