import { TuiMainScreen, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";

/** What is drawn for fewer columns is cut: into one or two, the library's components cannot lay out wide characters. */
const LEAST_COLUMNS = 10;

/**
 * The library's renderer makes every line of a session anew for each frame, and compares it with the last frame's by its
 * characters. Here a line that has not changed stays the same string, so that a key costs the same in a long session.
 *
 * For an image at the end, it clears screen and scrollback and draws all anew. Here the rows of the image come first, and
 * scroll what is above them; then the image, into rows that are there.
 *
 * The library ends the process for a line that does not fit. Here it is cut.
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
    // What was cut for another size may fit now.
    if (size !== this.#size) this.#given = [];
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

  override render(width: number): string[] {
    if (width >= LEAST_COLUMNS) return super.render(width);
    return super.render(LEAST_COLUMNS).map((line) => (drawsImage(line) ? "" : fitted(line, width)));
  }

  protected override applyLineResets(lines: string[]): string[] {
    const given = this.#canWait ? this.#withoutNewImages(lines) : lines;
    const made = given.map((line, at) =>
      line === this.#given[at]
        ? this.#made[at]!
        : super.applyLineResets([fitted(line, this.terminal.columns)])[0]!,
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

function fitted(line: string, width: number): string {
  return drawsImage(line) || visibleWidth(line) <= width ? line : truncateToWidth(line, width, "");
}
