import { contextReport } from "../compaction/context-report.ts";
import { contextReportView } from "../compaction/context-report-view.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { isNoModel } from "../no-model.ts";
import { showReport } from "../panels/report-panel.ts";
import type { SlashCommand } from "./slash-command.ts";

export const context: SlashCommand = {
  name: "context",
  description: "Show where the tokens of the context are",
  worksWhileBusy: true,
  run: (_args, work) => showContext(work),
};

/** Where there is no model yet, nobody knows its window. */
const noSizes = { contextWindow: 0, maxOutputTokens: 0 };

async function showContext({ host, screen }: InteractiveWork): Promise<void> {
  const { agent, workshop } = host;
  const report = contextReport({
    session: agent.session,
    systemPrompt: agent.systemPrompt,
    tools: agent.tools.declarations(),
    settings: workshop.settings.compaction,
    model: isNoModel(agent.model) ? noSizes : agent.model,
  });
  await showReport(screen, (width) => contextReportView(report, width));
}
