import { contextReport } from "../compaction/context-report.ts";
import { contextReportView } from "../compaction/context-report-view.ts";
import { ReportPanel } from "../compaction/report-panel.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import type { SlashCommand } from "./slash-command.ts";

export const context: SlashCommand = {
  name: "context",
  description: "Show where the tokens of the context are",
  worksWhileBusy: true,
  run: (_args, work) => showContext(work),
};

async function showContext({ host, screen }: InteractiveWork): Promise<void> {
  const { agent, workshop } = host;
  const report = contextReport({
    session: agent.session,
    systemPrompt: agent.systemPrompt,
    tools: agent.tools.declarations(),
    settings: workshop.settings.compaction,
    model: agent.model,
  });
  await screen.show<void>(
    (done) =>
      new ReportPanel({
        screen,
        lines: (width) => contextReportView(report, width),
        leave: () => done(undefined),
      }),
  );
}
