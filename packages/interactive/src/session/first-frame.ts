import type { AgentCall } from "@bonsai-agent/app/invocation";
import { bonsaiHome } from "@bonsai-agent/session";
import { PromptEditor } from "../prompt/prompt-editor.ts";
import {
  followBackground,
  linksOfTmux,
  schemeOfEnvironment,
  themeAtStart,
} from "../terminal/capabilities.ts";
import { Screen } from "../terminal/screen.ts";
import { makeTheme } from "../terminal/theme.ts";
import type { Terminal } from "../terminal/tui.ts";

/** What the first frame shows. Everything else is loaded behind it. */
export interface FirstFrame {
  readonly call: AgentCall;
  readonly screen: Screen;
  readonly editor: PromptEditor;
  readonly quitting: Quitting;
  /** What was sent before anybody could take it; empties it. */
  takeEarly(): string[];
}

export function showFirstFrame(call: AgentCall, terminal: Terminal, signal: AbortSignal): FirstFrame {
  const theme = makeTheme(schemeOfEnvironment(call.io.env));
  theme.choose(themeAtStart(bonsaiHome({ ...call.io.env })));
  const screen = new Screen({ terminal, theme, isXtermJs: call.io.env.TERM_PROGRAM === "vscode" });
  const editor = new PromptEditor(screen);
  const early: string[] = [];
  editor.onSubmit = (text) => early.push(text);
  const askForLinks = linksOfTmux({ ...call.io.env });
  screen.start(editor);
  screen.tui.renderNow();
  followBackground(screen);
  askForLinks(() => {
    screen.tui.invalidate();
    screen.redraw();
  });
  return { call, screen, editor, quitting: new Quitting(signal), takeEarly: () => early.splice(0) };
}

/** Owner of the end: who asked for it, and that the terminal is given back whatever happens. */
export class Quitting {
  /** Aborted when the user quits, and when the process is asked to end. */
  readonly signal: AbortSignal;
  /** Resolves when the program is to end. */
  readonly asked: Promise<void>;
  readonly #own = new AbortController();

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#own.signal]);
    this.asked = new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  quit(): void {
    this.#own.abort();
  }

  /** Gives the terminal back also where the process ends by an error; the function it gives back lets go of that. */
  guard(screen: Screen): () => void {
    const restore = () => screen.stop();
    process.on("exit", restore);
    return () => process.removeListener("exit", restore);
  }
}
