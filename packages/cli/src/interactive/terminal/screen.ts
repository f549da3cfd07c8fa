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

/** A component that takes the keys while it stands in the place of the editor. */
export interface Panel extends Component {
  handleInput(data: string): void;
}

interface ShowOverOptions {
  options: OverlayOptions;
  /** Called with what hides it and shows it again. */
  onHandle?: ((handle: OverlayHandle) => void) | undefined;
  /** Leaves it: the value is then undefined. */
  signal: AbortSignal;
}

interface ScreenOptions {
  terminal: Terminal;
  theme: Theme;
  /** Default false. */
  isXtermJs?: boolean;
}

/**
 * Owner of what stands where: the chat, then what goes on, then the editor or a panel in its place, then the footer.
 * The terminal keeps its scrollback.
 */
export class Screen {
  readonly theme: Theme;
  /** Above the chat: nothing, unless an extension puts something there. */
  readonly header = new Container();
  readonly chat = new Container();
  /** What goes on: spinner, queue, lines of extensions. */
  readonly activity = new Container();
  readonly below = new Container();
  readonly footer: FooterPlace;
  readonly #tui: MainScreen;
  readonly #place = new Container();
  #editor: Component | undefined;
  #isOn = false;
  readonly #panels: ({ panel: Panel } & Leavable)[] = [];
  #panelsLeft = new AbortController();
  /** What stands over everything: the latest is in front. */
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

  /** For components of the library that want it. */
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
    // Tests have no terminal that a shell could change.
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

  /** Takes away what is drawn, where there was nothing to see yet. */
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

  /** Draws what has changed, soon. */
  redraw(): void {
    this.#tui.requestRender();
  }

  /** Draws a chat that is another or shows more. */
  redrawOther(): void {
    this.#tui.showOther();
    this.redraw();
  }

  /** Gives what was typed to what has no keys while the panel in front has them: a panel to type in, or the editor. */
  typeThrough(data: string): void {
    const below = this.#panels.slice(0, -1).findLast(({ panel }) => "focused" in panel)?.panel;
    (below ?? this.#editor)?.handleInput?.(data);
  }

  /** True while a panel, or something over the screen, has the keys. */
  get hasPanel(): boolean {
    return this.#panels.length > 0 || this.#tui.isOverlaid;
  }

  /**
   * Shows a panel in the place of the editor until it is done; one over the other. @param signal leaves it: the value is
   * then undefined
   */
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

  /** As `show`, over what is on the screen. */
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

  /** Aborts when everybody who waits at a panel now is let go: whoever would show another then does not. */
  get panelsLeft(): AbortSignal {
    return this.#panelsLeft.signal;
  }

  /** Everybody who waits at a panel is let go. */
  leaveAll(): void {
    this.#panelsLeft.abort();
    this.#panelsLeft = new AbortController();
    for (const { leave } of [...this.#overlays, ...this.#panels]) leave();
    // What a component laid over the screen itself.
    while (this.#tui.isOverlaid) this.#tui.hideOverlay();
  }

  #stand(): void {
    const top = this.#panels.at(-1)?.panel ?? this.#editor;
    this.#place.clear();
    if (top === undefined) return;
    this.#place.addChild(top);
    this.#tui.setFocus(top);
    // A panel that came later has the keys; when it is gone, what stands over the screen has them again.
    if (this.#panels.length === 0) this.#overlays.findLast(({ takesKeys }) => takesKeys)?.handle.focus();
    this.redraw();
  }
}

interface Leavable {
  /** Leaves it without a value; a second call does nothing. */
  leave: () => void;
}

interface EntryOptions<Value, Entry> {
  enter: (leave: (value?: Value) => void) => Entry;
  /** Called when it stands there; also when it has been left at once. */
  onEntered: (entry: Entry) => void;
  onLeft: (entry: Entry) => void;
  /** Leaves it: the value is then undefined. */
  signal: AbortSignal | undefined;
}

/** Has an entry stand in a list, as the last, until it is left. @returns with what it was left */
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

/** Where the footer stands, whoever draws it. */
class FooterPlace extends Container {
  readonly #theme: Pick<Theme, "style">;
  #hint: string | undefined;

  constructor(theme: Pick<Theme, "style">) {
    super();
    this.#theme = theme;
  }

  /** Stands in the place of the first line, so that nothing moves; undefined ends it. */
  setHint(hint: string | undefined): void {
    this.#hint = hint;
  }

  override render(width: number): string[] {
    const lines = super.render(width);
    if (this.#hint === undefined) return lines;
    return [this.#theme.style.dim(cutText(` ${this.#hint}`, width)), ...lines.slice(1)];
  }
}
