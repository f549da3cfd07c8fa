import type { Screen } from "../screen.ts";
import { Editor } from "../terminal/tui.ts";

/** Where the user types. */
export class PromptEditor extends Editor {
  constructor(screen: Screen) {
    super(screen.tui, screen.theme.editor);
  }
}
