import type { ExtensionMessage, ExtensionRenderers, Theme as ExtensionTheme } from "@bonsai-agent/extension";
import type { CustomEntry } from "@bonsai-agent/session";
import type { Theme } from "../theme/theme.ts";
import { chatLines } from "./chat-lines.ts";
import { extensionTheme } from "./extension-theme.ts";
import { ToolDrawing } from "./tool-drawing.ts";

export interface ChatDrawingsOptions {
  /** Asked anew each time: extensions come and go. */
  renderers: () => ExtensionRenderers | undefined;
  theme: Theme;
  /** Absolute; where tools work. */
  cwd: string;
  redraw: () => void;
}

/** How the chat is drawn where extensions draw it. Each gives undefined where none does: then it is drawn as ever. */
export class ChatDrawings {
  readonly #options: ChatDrawingsOptions;
  readonly #theme: ExtensionTheme;

  constructor(options: ChatDrawingsOptions) {
    this.#options = options;
    this.#theme = extensionTheme(options.theme);
  }

  message(note: object, expanded: boolean, width: number): string[] | undefined {
    const { customType } = note as { customType?: unknown };
    if (typeof customType !== "string") return undefined;
    const drawn = this.#options.renderers()?.message(note as ExtensionMessage, { expanded }, this.#theme);
    return chatLines(drawn, width);
  }

  hasEntry(customType: unknown): boolean {
    return typeof customType === "string" && this.#options.renderers()?.hasEntry(customType) === true;
  }

  entry(entry: CustomEntry, expanded: boolean, width: number): string[] | undefined {
    return chatLines(this.#options.renderers()?.entry(entry, { expanded }, this.#theme), width);
  }

  /** @param changed the block has to be drawn anew */
  tool(name: string, toolCallId: string, changed: () => void): ToolDrawing {
    const { renderers, cwd, redraw } = this.#options;
    const invalidate = () => {
      changed();
      redraw();
    };
    const renderer = () => renderers()?.tool(name);
    return new ToolDrawing({ ...{ renderer, toolCallId, cwd, invalidate }, theme: this.#theme });
  }
}
