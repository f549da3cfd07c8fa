import type { AgentNotice } from "@bonsai-agent/agent";
import type {
  ComponentTui,
  DrawnComponent,
  FooterData,
  FrontEndDrawing,
  FrontEndUI,
} from "@bonsai-agent/extension/host";
import { oneLine } from "../../views/terminal-text.ts";
import { textLines } from "../panels/panel-frame.ts";
import { gitBranch } from "../status/footer-facts.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Component, Container, stripTerminalSequences } from "../terminal/tui.ts";
import { drawnLines, extensionTui } from "./extension-tui.ts";

interface StandingViewsOptions {
  screen: Screen;
  lines: ExtensionLines;
  /** Absolute. Its git branch is shown in footers. */
  cwd: string;
  notify: (message: string, level: AgentNotice["level"]) => void;
}

type StandingViews = Pick<FrontEndUI, "setStatus" | "setWidget"> &
  Pick<FrontEndDrawing, "showWidget" | "setFooter" | "setHeader">;

// Bounds, so that the chat stays on the screen.
const MAX_FOOTER_LINES = 6;
const MAX_HEADER_LINES = 24;

/** Statuses, widgets, footer and header of extensions. */
export function standingViews({ screen, lines, cwd, notify }: StandingViewsOptions): StandingViews {
  const made = (make: (tui: ComponentTui) => DrawnComponent): StandingComponent => {
    const { tui, leave } = extensionTui(screen, (message) => notify(message, "warning"));
    return { drawn: make(tui), leave };
  };
  const redraw = () => screen.redraw();
  const footer = new StandingPlace(screen.footer, MAX_FOOTER_LINES, redraw);
  const header = new StandingPlace(screen.header, MAX_HEADER_LINES, redraw);
  screen.activity.addChild(lines.view("aboveEditor"));
  screen.below.addChild(lines.view("belowEditor"));
  return {
    setStatus: (key, text) => lines.setStatus(key, text),
    setWidget: (key, texts, { placement = "aboveEditor" } = {}) => lines.setWidget(key, texts, placement),
    showWidget: (key, make, { placement = "aboveEditor" } = {}) =>
      lines.showWidget(key, made(make), placement),
    setFooter: (make) =>
      footer.show(
        make &&
          made((tui) =>
            make(
              tui,
              footerData(cwd, () => lines.statusesByKey),
            ),
          ),
      ),
    setHeader: (make) => header.show(make && made(make)),
  };
}

/** A part of the screen whose content an extension can replace. */
class StandingPlace {
  readonly #place: Container;
  readonly #maxLines: number;
  readonly #redraw: () => void;
  #before: readonly Component[] | undefined;
  #slot: ViewSlot | undefined;

  constructor(place: Container, maxLines: number, redraw: () => void) {
    this.#place = place;
    this.#maxLines = maxLines;
    this.#redraw = redraw;
  }

  /** Undefined restores the content. */
  show(component: StandingComponent | undefined): void {
    this.#slot?.dispose();
    this.#before ??= [...this.#place.children];
    this.#place.clear();
    const instead = new Container();
    const place = component === undefined ? this.#place : instead;
    for (const each of this.#before) place.addChild(each);
    this.#slot =
      component && new ViewSlot({ ...component, maxLines: this.#maxLines, redraw: this.#redraw, instead });
    if (this.#slot === undefined) this.#before = undefined;
    else this.#place.addChild(this.#slot);
    this.#redraw();
  }
}

type WidgetPlacement = "aboveEditor" | "belowEditor";

const MAX_WIDGET_LINES = 12;

type Widget = { placement: WidgetPlacement } & ({ lines: readonly string[] } | { slot: ViewSlot });

/** Owner of the statuses and widgets of extensions. */
export class ExtensionLines {
  readonly #statuses = new Map<string, string>();
  readonly #widgets = new Map<string, Widget>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The texts for the footer in the order of their keys. */
  get statuses(): readonly string[] {
    return [...this.#statuses].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

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

  showWidget(key: string, component: StandingComponent, placement: WidgetPlacement): void {
    this.#dispose(key);
    const slot = new ViewSlot({ ...component, maxLines: MAX_WIDGET_LINES, redraw: this.#onChange });
    this.#widgets.set(key, { placement, slot });
    this.#onChange();
  }

  view(placement: WidgetPlacement): Component {
    const widgets = () => [...this.#widgets.values()].filter((widget) => widget.placement === placement);
    return {
      render: (width) =>
        widgets().flatMap((widget) =>
          "slot" in widget
            ? widget.slot.render(width)
            : widget.lines.slice(0, MAX_WIDGET_LINES).flatMap((line) => textLines(line, width)),
        ),
      invalidate() {
        for (const widget of widgets()) if ("slot" in widget) widget.slot.invalidate();
      },
    };
  }

  #dispose(key: string): void {
    const widget = this.#widgets.get(key);
    if (widget !== undefined && "slot" in widget) widget.slot.dispose();
  }
}

interface StandingComponent {
  drawn: DrawnComponent;
  /** Removes the component's own overlays. Default: it has none. */
  leave?: () => void;
}

interface ViewSlotOptions extends StandingComponent {
  maxLines: number;
  redraw: () => void;
  /** Shown if the component fails. Default: nothing. */
  instead?: Component | undefined;
}

/** A slower component is not drawn in every frame: keys would wait for it. */
const SLOW_MS = 4;
/** A slow component rests for this multiple of its time. */
const REST_FACTOR = 10;

/** A component of an extension beside the chat. */
export class ViewSlot implements Component {
  readonly #options: ViewSlotOptions;
  #last: { lines: string[]; width: number; untilMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewSlotOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const { drawn, maxLines, instead } = this.#options;
    const startedMs = performance.now();
    if (this.#last?.width === width && startedMs < this.#last.untilMs) {
      this.#redrawAt(this.#last.untilMs);
      return this.#last.lines;
    }
    const rendered = drawn.render(width);
    if (rendered === undefined) return instead?.render(width) ?? [];
    const lines = drawnLines(rendered.slice(0, maxLines), width).slice(0, maxLines);
    const endedMs = performance.now();
    const tookMs = endedMs - startedMs;
    this.#last = tookMs < SLOW_MS ? undefined : { lines, width, untilMs: endedMs + tookMs * REST_FACTOR };
    return lines;
  }

  invalidate(): void {
    this.#last = undefined;
    this.#options.drawn.invalidate();
    this.#options.instead?.invalidate();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#options.leave?.();
    this.#options.drawn.dispose();
  }

  #redrawAt(untilMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.redraw();
    }, untilMs - performance.now()).unref();
  }
}

/** Time between two looks at the git files. */
const STALE_MS = 2_000;

/** Data for a footer of an extension. A changed branch is reported the next time it is read. */
function footerData(cwd: string, getExtensionStatuses: () => ReadonlyMap<string, string>): FooterData {
  const listeners = new Set<() => void>();
  let branch: string | null | undefined;
  let readMs = Number.NEGATIVE_INFINITY;
  return {
    getExtensionStatuses,
    getGitBranch() {
      const nowMs = performance.now();
      if (branch !== undefined && nowMs - readMs < STALE_MS) return branch;
      const former = branch;
      branch = gitBranch(cwd) ?? null;
      readMs = nowMs;
      if (former !== undefined && former !== branch)
        queueMicrotask(() => {
          for (const callback of listeners) callback();
        });
      return branch;
    },
    onBranchChange(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
}
