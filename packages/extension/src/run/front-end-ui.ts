import type { CustomEntry } from "@bonsai-agent/session";
import type { ComponentKeybindings, ComponentTui } from "../api/component.ts";
import type { CustomOptions, ExtensionUI, FooterData, WidgetOptions } from "../api/extension-ui.ts";
import type { Theme } from "../api/theme.ts";
import type { DrawnComponent } from "./drawn-component.ts";

/** What a component is made with. */
export interface ComponentPlace<Value> {
  tui: ComponentTui;
  keybindings: ComponentKeybindings;
  /** Ends what is shown; a second call does nothing. */
  done(value: Value | undefined): void;
}

/** What a front end does that can draw components. Whoever takes one that was made disposes of it. */
export interface FrontEndDrawing {
  readonly theme: Theme;
  /** Shows what is made until it is done. @returns undefined where it ended otherwise */
  custom<Value>(
    make: (place: ComponentPlace<Value>) => DrawnComponent | Promise<DrawnComponent>,
    options: CustomOptions,
  ): Promise<Value | undefined>;
  /** In the place of the lines of `setWidget`, which takes it away, too. */
  showWidget(key: string, make: (tui: ComponentTui) => DrawnComponent, options?: WidgetOptions): void;
  setFooter(make: ((tui: ComponentTui, data: FooterData) => DrawnComponent) | undefined): void;
  setHeader(make: ((tui: ComponentTui) => DrawnComponent) | undefined): void;
  setWorkingMessage(message: string | undefined): void;
  getToolsExpanded(): boolean;
  setToolsExpanded(isExpanded: boolean): void;
  /** An extension has appended it; whether it is drawn its renderer tells. */
  showEntry(entry: CustomEntry): void;
}

/** What a front end implements for extensions. What draws can be left out: it then has no effect. */
export interface FrontEndUI
  extends Omit<ExtensionUI, keyof FrontEndDrawing | "setWidget">,
    Partial<FrontEndDrawing> {
  /** Lines beside the editor; undefined takes them, or a component, away. */
  setWidget(key: string, lines: string[] | undefined, options?: WidgetOptions): void;
}
