import type { DrawnComponent } from "@bonsai-agent/extension";
import { oneLine } from "../../views/printable.ts";
import { textLines } from "../panels/panel-frame.ts";
import { type Component, stripTerminalSequences } from "../terminal/tui.ts";
import { ViewSlot } from "./view-slot.ts";

type WidgetPlacement = "aboveEditor" | "belowEditor";

/** A widget that had more would push the chat away. */
const mostWidgetLines = 12;

type Widget = { placement: WidgetPlacement } & ({ lines: readonly string[] } | { slot: ViewSlot });

/** Owner of what extensions show beside the chat: short texts for the footer, and lines above and below the editor. */
export class ExtensionLines {
  readonly #statuses = new Map<string, string>();
  readonly #widgets = new Map<string, Widget>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The texts for the footer in the order of their keys, each on one line and harmless. */
  get statuses(): readonly string[] {
    return [...this.#statuses].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  /** The same texts by their keys. */
  get statusesByKey(): ReadonlyMap<string, string> {
    return this.#statuses;
  }

  setStatus(key: string, text: string | undefined): void {
    const shown = oneLine(stripTerminalSequences(text ?? ""));
    if (shown === "") this.#statuses.delete(key);
    else this.#statuses.set(key, shown);
    this.#onChange();
  }

  setWidget(key: string, lines: readonly string[] | undefined, placement: WidgetPlacement): void {
    this.#dispose(key);
    if (lines === undefined || lines.length === 0) this.#widgets.delete(key);
    else this.#widgets.set(key, { placement, lines: lines.map((line) => stripTerminalSequences(line)) });
    this.#onChange();
  }

  /** A widget that draws itself. */
  showWidget(key: string, drawn: DrawnComponent, placement: WidgetPlacement): void {
    this.#dispose(key);
    this.#widgets.set(key, {
      placement,
      slot: new ViewSlot({ drawn, mostLines: mostWidgetLines, redraw: this.#onChange }),
    });
    this.#onChange();
  }

  /** The lines at one of the places; those of one widget after those of another. */
  widgetLines(placement: WidgetPlacement, width: number): string[] {
    return [...this.#widgets.values()]
      .filter((widget) => widget.placement === placement)
      .flatMap((widget) =>
        "slot" in widget
          ? widget.slot.render(width)
          : widget.lines.slice(0, mostWidgetLines).flatMap((line) => textLines(line, width)),
      );
  }

  /** Everything is taken away: the extensions are gone. */
  clear(): void {
    this.#statuses.clear();
    for (const key of this.#widgets.keys()) this.#dispose(key);
    this.#widgets.clear();
    this.#onChange();
  }

  /** The looks have changed. */
  invalidate(): void {
    for (const widget of this.#widgets.values()) if ("slot" in widget) widget.slot.invalidate();
  }

  #dispose(key: string): void {
    const widget = this.#widgets.get(key);
    if (widget !== undefined && "slot" in widget) widget.slot.dispose();
  }
}

/** Shows the widgets of one place. */
export class WidgetView implements Component {
  readonly #lines: ExtensionLines;
  readonly #placement: WidgetPlacement;

  constructor(lines: ExtensionLines, placement: WidgetPlacement) {
    this.#lines = lines;
    this.#placement = placement;
  }

  render(width: number): string[] {
    return this.#lines.widgetLines(this.#placement, width);
  }

  invalidate(): void {
    this.#lines.invalidate();
  }
}
