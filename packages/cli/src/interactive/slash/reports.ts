import { contextReport, contextSize } from "../../views/context-report.ts";
import { contextReportView } from "../../views/context-view.ts";
import { freeAmong } from "../../views/session-facts.ts";
import { sessionReport, sessionView } from "../../views/session-report.ts";
import type { SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { showReport } from "../panels/report-panel.ts";
import { showMessages } from "../tree/hide.ts";

export const contextCommand: SlashCommand = {
  name: "context",
  description: "Show what fills the context",
  worksWhileBusy: true,
  async run(_args, context) {
    const { agent, app } = context.host;
    const report = () =>
      contextReport({
        session: agent.session,
        overhead: { systemPrompt: agent.systemPrompt, tools: agent.tools.declarations() },
        settings: app.settings.compaction,
        model: isNoModel(agent.model) ? undefined : agent.model,
        nowMs: app.call.io.now(),
      });
    await showReport(context.screen, (width) => contextReportView(report(), width), {
      key: "ctrl+x",
      does: "hide messages",
      run: () => showMessages(context),
    });
  },
};

export const sessionCommand: SlashCommand = {
  name: "session",
  description: "Show file, id, entries, tokens, cost and compactions of this session",
  worksWhileBusy: true,
  async run(_args, { host: { agent, app }, screen }) {
    const { session, state } = agent;
    const isFree = freeAmong([...app.models.catalogue.models, agent.model]);
    const size = { ...contextSize(session, app.settings.compaction), ...state.context };
    const report = sessionReport(session, size, isFree);
    const windowTokens = isNoModel(agent.model) ? undefined : state.context.windowTokens;
    const nowMs = app.call.io.now();
    await showReport(screen, (width) => sessionView(report, { width, nowMs, windowTokens }));
  },
};
