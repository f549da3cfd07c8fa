import { join } from "node:path";
import type { ThemeColors } from "@bonsai-agent/extension/themes";
import { bonsaiHome } from "@bonsai-agent/session";
import type { AgentCall } from "../../call/invocation.ts";
import { userHomeFolder } from "../../call/resource-places.ts";
import { PromptEditor } from "../prompt/prompt-editor.ts";
import { builtInThemes } from "../terminal/built-in-themes.ts";
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
  /** Ends the program. */
  quit(): void;
  /** Removes and returns the texts that were sent before the session was open. */
  takeEarly(): string[];
}

interface FirstFrameOptions {
  terminal: Terminal;
  signal: AbortSignal;
  theme: FirstTheme;
}

export function showFirstFrame(
  call: AgentCall,
  { terminal, signal, theme: themeChoice }: FirstFrameOptions,
): FirstFrame {
  const { env } = call.io;
  const theme = makeTheme(schemeOfEnvironment(env), colorModeOf(env));
  const screen = new Screen({ terminal, theme, isXtermJs: env.TERM_PROGRAM === "vscode" });
  const themes = new ThemeControl({ screen, ...themeChoice });
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
  const quitting = new AbortController();
  return {
    ...{ call, screen, themes, editor, takeEarly: () => early.splice(0) },
    quitSignal: AbortSignal.any([signal, quitting.signal]),
    quit: () => quitting.abort(),
  };
}

/** The theme of the user, with its file. */
interface FirstTheme {
  choice: string;
  known: readonly ThemeColors[];
}

/** The theme of the first frame. Only a theme in a file has to be read. */
export function firstTheme({ io, options }: AgentCall): FirstTheme | Promise<FirstTheme> {
  const home = bonsaiHome({ ...io.env });
  const { useTheme } = options;
  const choice = typeof useTheme === "string" ? useTheme : themeAtStart(home);
  const isInFile = (name: string) => name !== "auto" && !Object.hasOwn(builtInThemes, name);
  if (!choice.split("/").some(isInFile)) return { choice, known: [] };
  const folders = [join(userHomeFolder(io.env), ".pi/agent/themes"), join(home, "themes")];
  return ownThemes(choice, folders).then((known) => ({ choice, known }));
}

/** Reads themes from the files of their names. Unreadable files are reported with all others. */
async function ownThemes(choice: string, folders: readonly string[]): Promise<ThemeColors[]> {
  const { readThemeFile } = await import("../terminal/theme-file.ts");
  const files = choice.split("/").flatMap((name) => folders.map((folder) => join(folder, `${name}.json`)));
  return files.flatMap((file) => {
    try {
      return [readThemeFile(file)];
    } catch {
      return [];
    }
  });
}
