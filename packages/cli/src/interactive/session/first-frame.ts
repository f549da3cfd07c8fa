import { bonsaiHome } from "@bonsai-agent/session";
import type { AgentCall } from "../../call/invocation.ts";
import { PromptEditor } from "../prompt/prompt-editor.ts";
import { colorModeOf, linksOfTmux, schemeOfEnvironment, themeAtStart } from "../terminal/capabilities.ts";
import { Screen } from "../terminal/screen.ts";
import { makeTheme } from "../terminal/theme.ts";
import { ThemeControl } from "../terminal/theme-control.ts";
import type { Terminal } from "../terminal/tui.ts";
import { withTabs } from "../terminal/typed-input.ts";

/** The parts of the first frame. All others are loaded after it. */
export interface FirstFrame {
  readonly call: AgentCall;
  readonly screen: Screen;
  readonly themes: ThemeControl;
  readonly editor: PromptEditor;
  /** Aborts when the user quits or the process is asked to end. */
  readonly quitSignal: AbortSignal;
  /** Aborts when the user quits again, because the end takes long. */
  readonly quitAgainSignal: AbortSignal;
  quit(): void;
  takeEarly(): string[];
}

const QUIT_AGAIN_MS = 1_000;

export function showFirstFrame(
  call: AgentCall,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): FirstFrame {
  const { env } = call.io;
  const { useTheme } = call.options;
  const theme = makeTheme(schemeOfEnvironment(env), colorModeOf(env));
  const screen = new Screen({ terminal, theme, isXtermJs: env.TERM_PROGRAM === "vscode" });
  const themes = new ThemeControl(
    screen,
    typeof useTheme === "string" ? useTheme : themeAtStart(bonsaiHome({ ...env })),
  );
  const editor = new PromptEditor(screen);
  const early: string[] = [];
  editor.onSubmit = (text) => early.push(withTabs(text));
  const askForLinks = linksOfTmux({ ...env });
  screen.start(editor);
  screen.tui.renderNow();
  themes.followBackground();
  askForLinks(() => {
    screen.tui.invalidate();
    screen.redraw();
  });
  const [quitting, quittingAgain] = [new AbortController(), new AbortController()];
  let quitMs = Number.POSITIVE_INFINITY;
  const quit = () => {
    const now = performance.now();
    // More presses in a row are one wish to quit.
    if (now - quitMs > QUIT_AGAIN_MS) quittingAgain.abort();
    quitMs = Math.min(quitMs, now);
    quitting.abort();
  };
  return {
    ...{ call, screen, themes, editor, takeEarly: () => early.splice(0) },
    quitSignal: AbortSignal.any([signal, quitting.signal]),
    quitAgainSignal: quittingAgain.signal,
    quit,
  };
}
