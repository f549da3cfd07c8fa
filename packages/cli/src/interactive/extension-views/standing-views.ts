import type { AgentNotice } from "@bonsai-agent/agent";
import type { FrontEndDrawing, FrontEndUI } from "@bonsai-agent/extension";
import type { Screen } from "../screen.ts";
import { type ExtensionLines, WidgetView } from "./extension-lines.ts";
import { extensionTui, withOwnTui } from "./extension-tui.ts";
import { FooterNews } from "./footer-news.ts";
import { Standing } from "./standing.ts";

export interface StandingViewsOptions {
  screen: Screen;
  lines: ExtensionLines;
  /** Absolute; whose git branch a footer tells. */
  cwd: string;
  tell: (notice: Pick<AgentNotice, "level" | "message">) => void;
}

type StandingViews = Pick<FrontEndUI, "setStatus" | "setWidget"> &
  Pick<FrontEndDrawing, "showWidget" | "setFooter" | "setHeader">;

/** What more than these lines would push the chat away. */
const mostFooterLines = 6;
const mostHeaderLines = 24;

/** What of extensions stands beside the chat until they take it away. */
export function standingViews({ screen, lines, cwd, tell }: StandingViewsOptions): StandingViews {
  const ownTui = () => extensionTui(screen, (message) => tell({ level: "warning", message }));
  const redraw = () => screen.redraw();
  const footer = new Standing({ place: screen.footer, mostLines: mostFooterLines, redraw });
  const header = new Standing({ place: screen.header, mostLines: mostHeaderLines, redraw });
  screen.activity.addChild(new WidgetView(lines, "aboveEditor"));
  screen.below.addChild(new WidgetView(lines, "belowEditor"));
  return {
    setStatus: (key, text) => lines.setStatus(key, text),
    setWidget: (key, texts, { placement = "aboveEditor" } = {}) => lines.setWidget(key, texts, placement),
    showWidget: (key, make, { placement = "aboveEditor" } = {}) =>
      lines.showWidget(key, withOwnTui(ownTui(), make), placement),
    setFooter(make) {
      const news = new FooterNews({ cwd, statuses: () => lines.statusesByKey });
      footer.stand(make && withOwnTui(ownTui(), (tui) => make(tui, news)));
    },
    setHeader: (make) => header.stand(make && withOwnTui(ownTui(), make)),
  };
}
