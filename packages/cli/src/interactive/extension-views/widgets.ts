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
import type { Place, Screen } from "../terminal/screen.ts";
import { type Component, stripTerminalSequences } from "../terminal/tui.ts";
import { drawnLines, extensionTui } from "./extension-tui.ts";

type StandingViews = Pick<FrontEndUI, "setStatus" | "setWidget"> &
  Pick<FrontEndDrawing, "showWidget" | "setFooter" | "setHeader">;

// Bounds, so that the chat stays on the screen.
const MAX_FOOTER_LINES = 6;
const MAX_HEADER_LINES = 24;

/** Statuses, widgets, footer and header of extensions. @param cwd folder of the git branch in footers */
export function standingViews(
  screen: Screen,
  lines: ExtensionLines,
  cwd: string,
  notify: (message: string, level: AgentNotice["level"]) => void,
): StandingViews {
  const made = (make: (tui: ComponentTui) => DrawnComponent): StandingComponent => {
    const { tui, leave } = extensionTui(screen, (message) => notify(message, "warning"));
    return { drawn: make(tui), leave };
  };
  const redraw = () => screen.redraw();
  const replacer = (place: Place, maxLines: number) => {
    let slot: ReturnType<typeof viewSlot> | undefined;
    return (make: ((tui: ComponentTui) => DrawnComponent) | undefined) => {
      slot?.dispose();
      slot = make && viewSlot(made(make), maxLines);
      place.replacement = slot;
      redraw();
    };
  };
  const replaceFooter = replacer(screen.footer, MAX_FOOTER_LINES);
  screen.activity.addChild(lines.view("aboveEditor"));
  screen.below.addChild(lines.view("belowEditor"));
  return {
    setStatus: (key, text) => lines.setStatus(key, text),
    setWidget: (key, texts, { placement = "aboveEditor" } = {}) => lines.setWidget(key, texts, placement),
    showWidget: (key, make, { placement = "aboveEditor" } = {}) =>
      lines.showWidget(key, made(make), placement),
    setFooter(make) {
      const data = footerData(cwd, () => lines.statusesByKey);
      replaceFooter(make && ((tui) => make(tui, data)));
    },
    setHeader: replacer(screen.header, MAX_HEADER_LINES),
  };
}

type WidgetPlacement = "aboveEditor" | "belowEditor";

const MAX_WIDGET_LINES = 12;

interface Widget {
  placement: WidgetPlacement;
  component: Component & { dispose?(): void };
}

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
    const texts = (lines ?? []).slice(0, MAX_WIDGET_LINES).map((line) => stripTerminalSequences(line));
    const render = (width: number) => texts.flatMap((text) => textLines(text, width));
    this.#put(key, texts.length === 0 ? undefined : { placement, component: { render, invalidate() {} } });
  }

  showWidget(key: string, component: StandingComponent, placement: WidgetPlacement): void {
    this.#put(key, { placement, component: viewSlot(component, MAX_WIDGET_LINES) });
  }

  #put(key: string, widget: Widget | undefined): void {
    this.#widgets.get(key)?.component.dispose?.();
    if (widget === undefined) this.#widgets.delete(key);
    else this.#widgets.set(key, widget);
    this.#onChange();
  }

  view(placement: WidgetPlacement): Component {
    const components = () =>
      [...this.#widgets.values()].flatMap((widget) =>
        widget.placement === placement ? widget.component : [],
      );
    return {
      render: (width) => components().flatMap((component) => component.render(width)),
      invalidate() {
        for (const component of components()) component.invalidate();
      },
    };
  }
}

interface StandingComponent {
  drawn: DrawnComponent;
  /** Removes the component's own overlays. Default: it has none. */
  leave?: () => void;
}

/** A component of at most `maxLines`. `draw` returns undefined if it has failed. */
export function viewSlot({ drawn, leave }: StandingComponent, maxLines: number) {
  const draw = (width: number): string[] | undefined => {
    const rendered = drawn.render(width);
    return rendered && drawnLines(rendered.slice(0, maxLines), width).slice(0, maxLines);
  };
  return {
    draw,
    render: (width: number) => draw(width) ?? [],
    invalidate: () => drawn.invalidate(),
    dispose() {
      leave?.();
      drawn.dispose();
    },
  };
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
