import { contextReport } from "../../views/context-report.ts";
import { contextReportView } from "../../views/context-view.ts";
import type { SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { showReport } from "../panels/report-panel.ts";

export const contextCommand: SlashCommand = {
  name: "context",
  description: "Show what fills the context",
  worksWhileBusy: true,
  async run(_args, { host: { agent, app }, screen }) {
    const report = contextReport({
      session: agent.session,
      overhead: { systemPrompt: agent.systemPrompt, tools: agent.tools.declarations() },
      settings: app.settings.compaction,
      model: isNoModel(agent.model) ? undefined : agent.model,
      nowMs: app.call.io.now(),
    });
    await showReport(screen, (width) => contextReportView(report, width));
  },
};
