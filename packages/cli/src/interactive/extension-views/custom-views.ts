import type { AgentNotice } from "@bonsai-agent/agent";
import type { FrontEndDrawing } from "@bonsai-agent/extension";
import type { Screen } from "../screen.ts";
import { extensionTui } from "./extension-tui.ts";
import { showCustom } from "./show-custom.ts";

export interface CustomViewsOptions {
  screen: Screen;
  tell: (notice: Pick<AgentNotice, "level" | "message">) => void;
  /** Resolves once keys may be taken from the user who types. */
  untilRest: (signal: AbortSignal) => Promise<void>;
  /** Everything that waits for the user ends with it. */
  signal: AbortSignal;
}

/** What extensions show in the place of the editor or over the screen, until it is done. */
export function customViews({
  screen,
  tell,
  untilRest,
  signal: ended,
}: CustomViewsOptions): Pick<FrontEndDrawing, "custom"> {
  return {
    custom(make, options) {
      const { tui, leave } = extensionTui(screen, (message) => tell({ level: "warning", message }));
      return showCustom(make, { ...options, screen, tui, untilRest, ended }).finally(leave);
    },
  };
}
