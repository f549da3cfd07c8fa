import { cutText } from "./fitted-lines.ts";
import { MainScreen } from "./main-screen.ts";
import type { Theme } from "./theme.ts";
import {
  type Component,
  Container,
  type OverlayHandle,
  type OverlayOptions,
  type Terminal,
  type TuiMainScreen,
} from "./tui.ts";

/** A component that replaces the editor and gets its keys. */
export interface Panel extends Component {
  handleInput(data: string): void;
}

interface ShowOverOptions {
  options: OverlayOptions;
  onHandle?: ((handle: OverlayHandle) => void) | undefined;
  signal: AbortSignal;
}

interface ScreenOptions {
  terminal: Terminal;
  theme: Theme;
  isXtermJs?: boolean;
}

/** The layout, from the top: header, chat, activity, editor or panel, footer. */
export class Screen {
  readonly theme: Theme;
  /** For extensions. */
  readonly header = new Place();
  readonly chat = new Container();
  /** Spinner, queue, widgets of extensions. */
  readonly activity = new Container();
  readonly below = new Container();
  readonly footer: FooterPlace;
  readonly #tui: MainScreen;
  readonly #place = new Container();
  #editor: Component | undefined;
  #isOn = false;
  readonly #panels: ({ panel: Panel } & Leavable)[] = [];
  #panelsLeft = new AbortController();
  /** The latest is in front. */
  readonly #overlays: ({ handle: OverlayHandle; takesKeys: boolean } & Leavable)[] = [];

  constructor({ terminal, theme, isXtermJs }: ScreenOptions) {
    this.theme = theme;
    this.footer = new FooterPlace(theme);
    this.#tui = new MainScreen(terminal, {
      kept: [this.header, this.chat],
      rule: (width) => theme.style.dim("─".repeat(width)),
      isXtermJs,
    });
    for (const part of [this.header, this.chat, this.activity, this.#place, this.below, this.footer])
      this.#tui.addChild(part);
  }

  get tui(): TuiMainScreen {
    return this.#tui;
  }

  get columns(): number {
    return this.#tui.terminal.columns;
  }

  get rows(): number {
    return this.#tui.terminal.rows;
  }

  start(editor: Component): void {
    this.#editor = editor;
    this.#stand();
    this.#isOn = true;
    this.#tui.start();
    if (process.stdout.isTTY) process.on("SIGCONT", this.#continued);
  }

  /** Takes the terminal back from the shell after another program stopped this process, and redraws everything. */
  readonly #continued = (): void => {
    if (!this.#isOn) return;
    this.stop();
    this.resume();
  };

  /** Gives the terminal back; a second call does nothing. */
  stop(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#tui.stop();
  }

  wipe(): void {
    this.#tui.clear();
    this.#tui.renderNow();
  }

  /** Takes the terminal again after `stop`. */
  resume(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#tui.start();
    this.#tui.requestRender(true);
  }

  redraw(): void {
    this.#tui.requestRender();
  }

  /** Draws a chat that is another or shows more. */
  redrawOther(): void {
    this.#tui.showOther();
    this.redraw();
  }

  /** Sends typed text to the panel below the front one, or to the editor. */
  typeThrough(data: string): void {
    const below = this.#panels.slice(0, -1).findLast(({ panel }) => "focused" in panel)?.panel;
    (below ?? this.#editor)?.handleInput?.(data);
  }

  /** True while a panel or an overlay has the keys. */
  get hasPanel(): boolean {
    return this.#panels.length > 0 || this.#tui.isOverlaid;
  }

  /** Shows a panel instead of the editor until it is done. @param signal closes it: the value is then undefined */
  show<Value>(
    make: (done: (value: Value | undefined) => void) => Panel,
    signal?: AbortSignal,
  ): Promise<Value | undefined> {
    return untilLeft(this.#panels, {
      enter: (leave: (value?: Value) => void) => ({ panel: make(leave) }),
      onEntered: () => this.#stand(),
      onLeft: () => this.#stand(),
      signal,
    });
  }

  /** Like `show`, as an overlay. */
  showOver<Value>(
    make: (done: (value: Value | undefined) => void) => Panel,
    { options, onHandle, signal }: ShowOverOptions,
  ): Promise<Value | undefined> {
    return untilLeft(this.#overlays, {
      enter: (leave: (value?: Value) => void) => ({
        handle: this.#tui.showOverlay(make(leave), options),
        takesKeys: options.nonCapturing !== true,
      }),
      onEntered: ({ handle }) => onHandle?.(handle),
      onLeft: ({ handle }) => {
        handle.hide();
        this.#stand();
      },
      signal,
    });
  }

  /** Aborts when all panels are closed at once: then no caller should show another. */
  get panelsLeft(): AbortSignal {
    return this.#panelsLeft.signal;
  }

  leaveAll(): void {
    this.#panelsLeft.abort();
    this.#panelsLeft = new AbortController();
    for (const { leave } of [...this.#overlays, ...this.#panels]) leave();
    // A component's own overlays.
    while (this.#tui.isOverlaid) this.#tui.hideOverlay();
  }

  #stand(): void {
    const top = this.#panels.at(-1)?.panel ?? this.#editor;
    this.#place.clear();
    if (top === undefined) return;
    this.#place.addChild(top);
    this.#tui.setFocus(top);
    // Without a panel, the front overlay has the keys.
    if (this.#panels.length === 0) this.#overlays.findLast(({ takesKeys }) => takesKeys)?.handle.focus();
    this.redraw();
  }
}

interface Leavable {
  /** Closes it without a value. A second call does nothing. */
  leave: () => void;
}

interface EntryOptions<Value, Entry> {
  enter: (leave: (value?: Value) => void) => Entry;
  onEntered: (entry: Entry) => void;
  onLeft: (entry: Entry) => void;
  /** Closes it: the value is then undefined. */
  signal: AbortSignal | undefined;
}

/** Adds an entry to a list until it is closed. @returns the value that it is closed with */
function untilLeft<Value, Entry extends object>(
  list: (Entry & Leavable)[],
  { enter, onEntered, onLeft, signal }: EntryOptions<Value, Entry>,
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const leave = (value?: Value) => {
      const at = list.findIndex((each) => each.leave === leaveEmpty);
      if (at < 0) return;
      const [entry] = list.splice(at, 1);
      signal?.removeEventListener("abort", leaveEmpty);
      onLeft(entry!);
      resolve(value);
    };
    const leaveEmpty = () => leave();
    const entry = { ...enter(leave), leave: leaveEmpty };
    list.push(entry);
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leaveEmpty, { once: true });
    onEntered(entry);
  });
}

/** A part of the screen whose content an extension can replace. */
export class Place extends Container {
  /** Draws nothing, so that the content returns, if it has failed. */
  replacement: { draw(width: number): string[] | undefined; invalidate(): void } | undefined;

  override render(width: number): string[] {
    return this.replacement?.draw(width) ?? super.render(width);
  }

  override invalidate(): void {
    super.invalidate();
    this.replacement?.invalidate();
  }
}

/** The footer, with a hint over its first line. */
class FooterPlace extends Place {
  readonly #theme: Pick<Theme, "style">;
  #hint: string | undefined;

  constructor(theme: Pick<Theme, "style">) {
    super();
    this.#theme = theme;
  }

  /** Replaces the first line; undefined restores it. */
  setHint(hint: string | undefined): void {
    this.#hint = hint;
  }

  override render(width: number): string[] {
    const lines = super.render(width);
    if (this.#hint === undefined) return lines;
    return [this.#theme.style.dim(cutText(` ${this.#hint}`, width)), ...lines.slice(1)];
  }
}
