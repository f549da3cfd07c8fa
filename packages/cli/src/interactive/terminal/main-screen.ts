import { TuiMainScreen } from "@earendil-works/pi-tui";

/**
 * The library's renderer makes every line of a session anew for each frame, and compares it with the last frame's by its
 * characters. Here a line that has not changed stays the same string, so that a key costs the same in a long session.
 */
export class MainScreen extends TuiMainScreen {
  #given: readonly string[] = [];
  #made: readonly string[] = [];

  protected override applyLineResets(lines: string[]): string[] {
    const made = lines.map((line, at) =>
      line === this.#given[at] ? this.#made[at]! : super.applyLineResets([line])[0]!,
    );
    this.#given = lines;
    this.#made = made;
    return made;
  }
}
