import type { Screen } from "../screen.ts";
import { schemeOfBackground } from "./color-scheme.ts";

/** Slow lines answer late; the first frame does not wait for the answer. */
const ANSWER_MS = 1_000;

/**
 * Asks the terminal for its background and takes the scheme that fits. Where it does not answer, the theme has no
 * colours, or the user has chosen one, nothing changes. To be called once the screen has been started.
 */
export async function followBackground({ theme, tui }: Pick<Screen, "theme" | "tui">): Promise<void> {
  if (theme.scheme === "none" || theme.choice !== "auto") return;
  const background = await tui.queryTerminalBackgroundColor({ timeoutMs: ANSWER_MS });
  if (background === undefined || theme.choice !== "auto") return;
  const scheme = schemeOfBackground(background);
  if (scheme === theme.scheme) return;
  theme.use(scheme);
  tui.invalidate();
  tui.requestRender();
}
