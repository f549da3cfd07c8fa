import type { FrontEndDrawing } from "@bonsai-agent/extension";
import type { ExtensionLines } from "../panels/extension-lines.ts";
import type { Screen } from "../screen.ts";
import { stripTerminalSequences } from "../terminal/tui.ts";
import { extensionTheme } from "./extension-theme.ts";
import { extensionTui, withOwnTui } from "./extension-tui.ts";
import { FooterNews } from "./footer-news.ts";
import { showCustom } from "./show-custom.ts";
import { Standing } from "./standing.ts";

/** What can be folded and unfolded as a whole. */
export interface Folding {
  readonly isExpanded: boolean;
  toggleExpanded(): void;
}

export interface DrawingUiOptions {
  screen: Screen;
  lines: ExtensionLines;
  /** Absolute; whose git branch a footer tells. */
  cwd: string;
  tell: (notice: { level: "warning"; message: string }) => void;
  onWorkingMessage: (message: string | undefined) => void;
  onEntry: FrontEndDrawing["showEntry"];
  folding: Folding;
  /** Resolves once keys may be taken from the user who types. */
  untilRest: (signal: AbortSignal) => Promise<void>;
  /** Everything that waits for the user ends with it. */
  signal: AbortSignal;
}

/** What more than these lines would push the chat away. */
const mostFooterLines = 6;
const mostHeaderLines = 24;

/** What extensions draw themselves. */
export function drawingUi({
  screen,
  lines,
  cwd,
  tell,
  onWorkingMessage,
  onEntry,
  folding,
  untilRest,
  signal: ended,
}: DrawingUiOptions): FrontEndDrawing {
  const ownTui = () => extensionTui(screen, (message) => tell({ level: "warning", message }));
  const redraw = () => screen.redraw();
  const footer = new Standing({ place: screen.footer, mostLines: mostFooterLines, redraw });
  const header = new Standing({ place: screen.header, mostLines: mostHeaderLines, redraw });
  return {
    theme: extensionTheme(screen.theme),
    custom(make, options) {
      const { tui, leave } = ownTui();
      return showCustom(make, { ...options, screen, tui, untilRest, ended }).finally(leave);
    },
    showWidget: (key, make, { placement = "aboveEditor" } = {}) =>
      lines.showWidget(key, withOwnTui(ownTui(), make), placement),
    setFooter(make) {
      const news = new FooterNews({ cwd, statuses: () => lines.statusesByKey });
      footer.stand(make && withOwnTui(ownTui(), (tui) => make(tui, news)));
    },
    setHeader: (make) => header.stand(make && withOwnTui(ownTui(), make)),
    setWorkingMessage: (message) =>
      onWorkingMessage(message === undefined ? undefined : stripTerminalSequences(String(message))),
    getToolsExpanded: () => folding.isExpanded,
    setToolsExpanded(isExpanded) {
      if (folding.isExpanded !== isExpanded) folding.toggleExpanded();
    },
    showEntry: onEntry,
  };
}
