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
  /** Absolute; whose git branch a footer shows. */
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
  const made = (make: (tui: ComponentTui) => DrawnComponent): StandingComponent => {
    const { tui, leave } = extensionTui(screen, (message) => notify(message, "warning"));
    return { drawn: make(tui), leave };
  };
  const redraw = () => screen.redraw();
  const footer = new StandingPlace(screen.footer, mostFooterLines, redraw);
  const header = new StandingPlace(screen.header, mostHeaderLines, redraw);
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

/** A part of the screen in which a component of an extension can stand in the place of what stood there. */
class StandingPlace {
  readonly #place: Container;
  readonly #mostLines: number;
  readonly #redraw: () => void;
  #before: readonly Component[] | undefined;
  #slot: ViewSlot | undefined;

  constructor(place: Container, mostLines: number, redraw: () => void) {
    this.#place = place;
    this.#mostLines = mostLines;
    this.#redraw = redraw;
  }

  /** Undefined brings back what stood there. */
  show(component: StandingComponent | undefined): void {
    this.#slot?.dispose();
    this.#before ??= [...this.#place.children];
    this.#place.clear();
    const instead = new Container();
    const place = component === undefined ? this.#place : instead;
    for (const each of this.#before) place.addChild(each);
    this.#slot =
      component && new ViewSlot({ ...component, mostLines: this.#mostLines, redraw: this.#redraw, instead });
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
  showWidget(key: string, component: StandingComponent, placement: WidgetPlacement): void {
    this.#dispose(key);
    const slot = new ViewSlot({ ...component, mostLines: mostWidgetLines, redraw: this.#onChange });
    this.#widgets.set(key, { placement, slot });
    this.#onChange();
  }

  /** The widgets of one place, one after the other. */
  view(placement: WidgetPlacement): Component {
    const widgets = () => [...this.#widgets.values()].filter((widget) => widget.placement === placement);
    return {
      render: (width) =>
        widgets().flatMap((widget) =>
          "slot" in widget
            ? widget.slot.render(width)
            : widget.lines.slice(0, mostWidgetLines).flatMap((line) => textLines(line, width)),
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
  /** Takes away what the component laid over the screen itself, once it is gone. Default: it laid nothing. */
  leave?: () => void;
}

interface ViewSlotOptions extends StandingComponent {
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
    if (this.#last?.width === width && startedMs < this.#last.untilMs) {
      this.#redrawAt(this.#last.untilMs);
      return this.#last.lines;
    }
    const rendered = drawn.render(width);
    if (rendered === undefined) return instead?.render(width) ?? [];
    const lines = drawnLines(rendered.slice(0, mostLines), width).slice(0, mostLines);
    const endedMs = performance.now();
    const tookMs = endedMs - startedMs;
    this.#last = tookMs < slowMs ? undefined : { lines, width, untilMs: endedMs + tookMs * restFactor };
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

  /** What it would draw now is drawn once it may be asked again. */
  #redrawAt(untilMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#options.redraw();
    }, untilMs - performance.now()).unref();
  }
}

/** A file is looked at no more often. */
const staleMs = 2_000;

/**
 * What a footer of an extension asks for. Who listens to the branch is called when it is asked for the next time.
 * @param cwd absolute
 */
function footerData(cwd: string, getExtensionStatuses: () => ReadonlyMap<string, string>): FooterData {
  const listeners = new Set<() => void>();
  let branch: string | null | undefined;
  let readMs = Number.NEGATIVE_INFINITY;
  return {
    getExtensionStatuses,
    getGitBranch() {
      const nowMs = performance.now();
      if (branch !== undefined && nowMs - readMs < staleMs) return branch;
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
