import type { UserContent } from "@bonsai-agent/messages";
import type { CustomEntry } from "@bonsai-agent/session";
import type { ColorMode } from "../themes/theme-colors.ts";
import type { ThemeBg, ThemeColor } from "../themes/theme-tokens.ts";

/**
 * What draws itself on the terminal. Components of the package `@earendil-works/pi-tui` have this shape; an extension
 * needs none of them, for an object with `render` is enough.
 */
export interface Component {
  /**
   * @param width in columns; what is wider is cut
   * @returns lines, with colours of the theme where they have some; other control characters are made harmless
   */
  render(width: number): string[];
  /** A key as the terminal sends it, while the component has the keys; it is drawn anew after that. */
  handleInput?(data: string): void;
  /** The looks have changed: what was kept of an earlier drawing no longer holds. */
  invalidate?(): void;
  /** It is not shown any more. */
  dispose?(): void;
}

/** The terminal, as far as a component needs it. */
export interface ComponentTui {
  /** Draws soon what has changed. */
  requestRender(): void;
  /** Its size as it is now. */
  readonly terminal: { readonly columns: number; readonly rows: number };
}

/** Which keys mean what, as the user has bound them. */
export interface ComponentKeybindings {
  /** True where this key stands for the action, like `tui.select.confirm`, `tui.select.cancel` or `expand`. */
  matches(data: string, action: string): boolean;
  /** The keys of an action, like `ctrl+o`; none for an action that does not exist. */
  getKeys(action: string): string[];
}

export interface RenderOptions {
  /** Whether the user wants to see all of it. */
  expanded: boolean;
}

/**
 * Draws messages of one `customType` in the chat: asked anew whenever something of them has changed. Where it gives
 * nothing, or throws, they are drawn as without it.
 */
export type MessageRenderer<Details = unknown> = (
  message: ExtensionMessage<Details>,
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

/** As a {@link MessageRenderer}, for entries of `appendEntry`, which are not shown without one. */
export type EntryRenderer<Data = unknown> = (
  entry: CustomEntry & { data?: Data },
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

export interface ToolRenderOptions extends RenderOptions {
  /** True for what the tool has put out so far. */
  isPartial: boolean;
}

/** What a tool's renderers know of the call. */
export interface ToolRenderContext<Args = unknown> {
  /** As far as the model has written them: see `argsComplete`. */
  args: Args;
  toolCallId: string;
  cwd: string;
  /** Kept for this call, for both of its renderers to write to. */
  state: Record<string, unknown>;
  /** What this renderer gave the last time, to be used again; undefined the first time. */
  lastComponent: Component | undefined;
  /** Has this call drawn anew. */
  invalidate(): void;
  /** True once the tool was called. */
  executionStarted: boolean;
  /** False while the model still writes the arguments. */
  argsComplete: boolean;
  isPartial: boolean;
  expanded: boolean;
  isError: boolean;
}

/** A message that an extension puts into the conversation: stored, and seen by the model as the user's. */
export interface ExtensionMessage<Details = unknown> {
  /** Whose message it is; chooses its renderer. */
  customType: string;
  content: string | UserContent[];
  /** False: front ends do not show it. */
  display: boolean;
  /** For the extension; never sent. */
  details?: Details | undefined;
}

/** How texts get their looks: those of the user's terminal, none where nothing is drawn. */
export interface Theme {
  /** As the user chooses it; empty where nothing is drawn. */
  readonly name: string;
  /** The background that it was made for. */
  readonly appearance: "dark" | "light";
  /** An unknown colour leaves the text as it is. */
  fg(color: ThemeColor, text: string): string;
  /** An unknown colour leaves the background as it is. */
  bg(color: ThemeBg, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  /** What begins a colour; `\x1b[39m` ends it. Empty without colours, and for an unknown one. */
  getFgAnsi(color: ThemeColor): string;
  /** The same behind a text; `\x1b[49m` ends it. */
  getBgAnsi(color: ThemeBg): string;
  /** How many colours the terminal has; `none` also where nothing is drawn. */
  getColorMode(): ColorMode;
}
