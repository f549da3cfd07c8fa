import type { UserContent } from "@bonsai-agent/messages";
import type { CustomEntry } from "@bonsai-agent/session";
import type { ColorMode } from "../themes/theme-colors.ts";
import type { ThemeBg, ThemeColor } from "../themes/theme-tokens.ts";

/**
 * Draws itself on the terminal. Components of `@earendil-works/pi-tui` have this shape. An object with `render` is
 * enough.
 */
export interface Component {
  /**
   * @param width in columns; wider lines are cut
   * @returns lines, with the theme's colours; other control characters are made harmless
   */
  render(width: number): string[];
  /** Gets a key as the terminal sends it, while the component has the keys. The component is drawn again afterwards. */
  handleInput?(data: string): void;
  /** Clears cached drawings, because the theme changed. */
  invalidate?(): void;
  /** Called when the component is removed. */
  dispose?(): void;
}

/** The terminal for a component. */
export interface ComponentTui {
  /** Requests a new frame. */
  requestRender(): void;
  /** The current size. */
  readonly terminal: { readonly columns: number; readonly rows: number };
}

/** The user's key bindings. */
export interface ComponentKeybindings {
  /** True if the key triggers the action, like `tui.select.confirm`, `tui.select.cancel` or `expand`. */
  matches(data: string, action: string): boolean;
  /** The keys of an action, like `ctrl+o`; empty for an unknown action. */
  getKeys(action: string): string[];
}

export interface RenderOptions {
  /** True if the user expanded it. */
  expanded: boolean;
}

/**
 * Draws messages of one `customType` in the chat, after each change. If it returns nothing or throws, the program draws
 * them.
 */
export type MessageRenderer<Details = unknown> = (
  message: ExtensionMessage<Details>,
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

/** Draws entries of `appendEntry`. Without a renderer, they are not shown. */
export type EntryRenderer<Data = unknown> = (
  entry: CustomEntry & { data?: Data },
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

export interface ToolRenderOptions extends RenderOptions {
  /** True while the tool runs. */
  isPartial: boolean;
}

/** The call, for a tool's renderers. */
export interface ToolRenderContext<Args = unknown> {
  /** The arguments so far: see `argsComplete`. */
  args: Args;
  toolCallId: string;
  cwd: string;
  /** Shared by both renderers of this call. */
  state: Record<string, unknown>;
  /** The renderer's last component, to use again; undefined the first time. */
  lastComponent: Component | undefined;
  /** Draws this call again. */
  invalidate(): void;
  /** True once the tool runs. */
  executionStarted: boolean;
  /** False while the model still writes the arguments. */
  argsComplete: boolean;
  isPartial: boolean;
  expanded: boolean;
  isError: boolean;
}

/** A message of an extension in the conversation. The model sees it as the user's. */
export interface ExtensionMessage<Details = unknown> {
  /** Chooses the renderer. */
  customType: string;
  content: string | UserContent[];
  display: boolean;
  /** Data for the extension; never sent to the model. */
  details?: Details | undefined;
}

/** Styles texts for the user's terminal. Without a screen, texts stay unchanged. */
export interface Theme {
  /** Empty without a screen. */
  readonly name: string;
  /** The background that it is made for. */
  readonly appearance: "dark" | "light";
  /** An unknown colour leaves the text unchanged. */
  fg(color: ThemeColor, text: string): string;
  /** An unknown colour leaves the background unchanged. */
  bg(color: ThemeBg, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  /** The escape that starts a colour; `\x1b[39m` ends it. Empty without colours, and for an unknown colour. */
  getFgAnsi(color: ThemeColor): string;
  /** The same for the background; `\x1b[49m` ends it. */
  getBgAnsi(color: ThemeBg): string;
  /** The colours of the terminal; `none` also without a screen. */
  getColorMode(): ColorMode;
}
