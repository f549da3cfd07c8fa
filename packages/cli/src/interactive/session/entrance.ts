import { bonsaiHome } from "@bonsai-agent/session";
import type { AgentCall } from "../../invocation.ts";
import { PromptEditor } from "../prompt/prompt-editor.ts";
import { Screen } from "../screen.ts";
import { linksOfTmux } from "../terminal/tmux-links.ts";
import type { Terminal } from "../terminal/tui.ts";
import { schemeOfEnvironment } from "../theme/color-scheme.ts";
import { followBackground } from "../theme/follow-background.ts";
import { makeTheme } from "../theme/make-theme.ts";
import { themeAtStart } from "../theme/wear-theme.ts";
import { Quitting } from "./quitting.ts";

/** What the first frame shows. Everything else is loaded behind it. */
export interface Entrance {
  readonly call: AgentCall;
  readonly screen: Screen;
  readonly editor: PromptEditor;
  readonly quitting: Quitting;
  /** What was sent before anybody could take it; empties it. */
  takeEarly(): string[];
}

export function enter(call: AgentCall, terminal: Terminal, signal: AbortSignal): Entrance {
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
