import type { Screen } from "../screen.ts";
import { schemeOfBackground } from "./color-scheme.ts";

/** Slow lines answer late; the first frame does not wait for the answer. */
const ANSWER_MS = 1_000;

/**
 * Asks the terminal for its background and takes the scheme that fits. Where it does not answer, or the theme has no
 * colours, nothing changes. To be called once the screen has been started.
 */
export async function followBackground({ theme, tui }: Pick<Screen, "theme" | "tui">): Promise<void> {
  if (theme.scheme === "none") return;
  const background = await tui.queryTerminalBackgroundColor({ timeoutMs: ANSWER_MS });
  if (background === undefined) return;
  const scheme = schemeOfBackground(background);
  if (scheme === theme.scheme) return;
  theme.use(scheme);
  tui.invalidate();
  tui.requestRender();
}
