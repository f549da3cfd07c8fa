import type { Screen } from "../screen.ts";
import { parseOsc11BackgroundColor } from "../terminal/tui.ts";
import { schemeOfBackground } from "./color-scheme.ts";

type Worn = Pick<Screen, "theme" | "tui">;

/**
 * Asks the terminal for its background and takes the scheme that fits, whenever the answer comes, and anew when the
 * terminal changes its colours. Where it does not answer, the theme has no colours, or the user has chosen one, nothing
 * changes. To be called once, when the screen has been started.
 */
export function followBackground(screen: Worn): void {
  const { theme, tui } = screen;
  if (theme.scheme === "none") return;
  tui.addInputListener((data) => {
    if (!data.startsWith("\x1b]11;")) return undefined;
    wearBackground(screen, data);
    return { consume: true };
  });
  tui.onTerminalColorSchemeChange(() => askBackground(screen));
  tui.setTerminalColorSchemeNotifications(true);
  askBackground(screen);
}

/** The answer is heard by `followBackground`: of a terminal that is far away, it comes late. */
export function askBackground({ theme, tui }: Worn): void {
  if (theme.scheme !== "none" && theme.choice === "auto") tui.terminal.write("\x1b]11;?\x07");
}

function wearBackground({ theme, tui }: Worn, answer: string): void {
  const background = parseOsc11BackgroundColor(answer);
  if (background === undefined || theme.choice !== "auto") return;
  const scheme = schemeOfBackground(background);
  if (scheme === theme.scheme) return;
  theme.use(scheme);
  tui.invalidate();
  tui.requestRender();
}
