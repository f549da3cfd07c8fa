import type { AgentNotice } from "@bonsai-agent/agent";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import type { DrawnComponent, FooterData, FrontEndDrawing, FrontEndUI } from "@bonsai-agent/extension/host";
import { textLines } from "../panels/panel-frame.ts";
import { gitBranch } from "../status/footer-source.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Component, Container, stripTerminalSequences } from "../terminal/tui.ts";
import { drawnLines, extensionTui, withOwnTui } from "./extension-tui.ts";

interface StandingViewsOptions {
  screen: Screen;
  lines: ExtensionLines;
  /** Absolute; whose git branch a footer tells. */
  cwd: string;
  notify: (message: string, level: AgentNotice["level"]) => void;
}

type StandingViews = Pick<FrontEndUI, "setStatus" | "setWidget"> &
  Pick<FrontEndDrawing, "showWidget" | "setFooter" | "setHeader">;

/** What more than these lines would push the chat away. */
const mostFooterLines = 6;
const mostHeaderLines = 24;

/** What of extensions stands beside the chat until they take it away. */
export function standingViews({ screen, lines, cwd, notify }: StandingViewsOptions): StandingViews {
  const ownTui = () => extensionTui(screen, (message) => notify(message, "warning"));
  const redraw = () => screen.redraw();
  const footer = new Standing({ place: screen.footer, mostLines: mostFooterLines, redraw });
  const header = new Standing({ place: screen.header, mostLines: mostHeaderLines, redraw });
  screen.activity.addChild(new WidgetView(lines, "aboveEditor"));
  screen.below.addChild(new WidgetView(lines, "belowEditor"));
  return {
    setStatus: (key, text) => lines.setStatus(key, text),
    setWidget: (key, texts, { placement = "aboveEditor" } = {}) => lines.setWidget(key, texts, placement),
    showWidget: (key, make, { placement = "aboveEditor" } = {}) =>
      lines.showWidget(key, withOwnTui(ownTui(), make), placement),
    setFooter(make) {
      const news = new FooterNews({ cwd, statuses: () => lines.statusesByKey });
      footer.stand(make && withOwnTui(ownTui(), (tui) => make(tui, news)));
    },
    setHeader: (make) => header.stand(make && withOwnTui(ownTui(), make)),
  };
}

interface StandingOptions {
  place: Container;
  /** Of the component. */
  mostLines: number;
  redraw: () => void;
}

/** A component of an extension in the place of what stands in a part of the screen, and what stood there before. */
class Standing {
  readonly #place: Container;
  readonly #mostLines: number;
  readonly #redraw: () => void;
  #before: readonly Component[] | undefined;
  #slot: ViewSlot | undefined;

  constructor({ place, mostLines, redraw }: StandingOptions) {
    this.#place = place;
    this.#mostLines = mostLines;
    this.#redraw = redraw;
  }

  /** Undefined brings back what stood there. */
  stand(drawn: DrawnComponent | undefined): void {
    this.#slot?.dispose();
    this.#before ??= [...this.#place.children];
    this.#place.clear();
    const instead = new Container();
    const place = drawn === undefined ? this.#place : instead;
    for (const each of this.#before) place.addChild(each);
    this.#slot = drawn && new ViewSlot({ drawn, mostLines: this.#mostLines, redraw: this.#redraw, instead });
    if (this.#slot === undefined) this.#before = undefined;
    else this.#place.addChild(this.#slot);
    this.#redraw();
  }
}

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
class WidgetView implements Component {
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

interface ViewSlotOptions {
  drawn: DrawnComponent;
  /** More would push the chat away. */
  mostLines: number;
  redraw: () => void;
  /** Stands there where the component has failed. Default: nothing. */
  instead?: Component | undefined;
}

/** A component that takes longer is not asked in every frame: a key would wait for it. */
const slowMs = 4;
/** For so many times as long as it took, what it drew last stays. */
const restFactor = 10;

/** A component of an extension that stands beside the chat. */
export class ViewSlot implements Component {
  readonly #options: ViewSlotOptions;
  #last: { lines: string[]; width: number; untilMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewSlotOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const { drawn, mostLines, instead } = this.#options;
    const startedMs = performance.now();
    if (this.#last?.width === width && startedMs < this.#last.untilMs) return this.#later(this.#last);
    const rendered = drawn.render(width);
    if (rendered === undefined) return instead?.render(width) ?? [];
    const lines = drawnLines(rendered.slice(0, mostLines), width).slice(0, mostLines);
    this.#rest({ lines, width, startedMs });
    return lines;
  }

  invalidate(): void {
    this.#last = undefined;
    this.#options.drawn.invalidate();
    this.#options.instead?.invalidate();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#options.drawn.dispose();
  }

  #rest({ lines, width, startedMs }: { lines: string[]; width: number; startedMs: number }): void {
    const endedMs = performance.now();
    const tookMs = endedMs - startedMs;
    this.#last = tookMs < slowMs ? undefined : { lines, width, untilMs: endedMs + tookMs * restFactor };
  }

  /** What it would draw now is drawn once it may be asked again. */
  #later({ lines, untilMs }: { lines: string[]; untilMs: number }): string[] {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.redraw();
    }, untilMs - performance.now()).unref();
    return lines;
  }
}

/** A file is looked at no more often. */
const staleMs = 2_000;

interface FooterNewsOptions {
  /** Absolute. */
  cwd: string;
  statuses: () => ReadonlyMap<string, string>;
}

/** What a footer of an extension asks for. Who listens to the branch is told when it is asked for the next time. */
class FooterNews implements FooterData {
  readonly #options: FooterNewsOptions;
  readonly #listeners = new Set<() => void>();
  #branch: string | null = null;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(options: FooterNewsOptions) {
    this.#options = options;
  }

  // Extensions take these out of the object.
  readonly getGitBranch = (): string | null => {
    const now = performance.now();
    if (now - this.#readMs < staleMs) return this.#branch;
    const isFirst = this.#readMs === Number.NEGATIVE_INFINITY;
    this.#readMs = now;
    const former = this.#branch;
    this.#branch = gitBranch(this.#options.cwd) ?? null;
    if (!isFirst && former !== this.#branch) queueMicrotask(() => this.#callListeners());
    return this.#branch;
  };

  readonly getExtensionStatuses = (): ReadonlyMap<string, string> => this.#options.statuses();

  readonly onBranchChange = (callback: () => void): (() => void) => {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  };

  #callListeners(): void {
    for (const callback of this.#listeners) callback();
  }
}
