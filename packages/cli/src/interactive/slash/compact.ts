import { fixedTexts } from "@bonsai-agent/agent";
import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { compactionPreview } from "../compaction/compaction-preview.ts";
import { compactionWords, skippedWords } from "../compaction/compaction-words.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { isNoModel } from "../no-model.ts";
import { showReport } from "../panels/report-panel.ts";
import type { SlashCommand } from "./slash-command.ts";

export const compact: SlashCommand = {
  name: "compact",
  description: "Compact now; a focus says what the summary must keep, preview shows what would happen",
  argumentHint: "[focus]",
  worksWhileBusy: true,
  complete: (prefix) => ("preview".startsWith(prefix) ? [previewItem] : []),
  run: (args, work) => (isPreview(args) ? showPreview(work) : askForCompaction(focusOf(args), work)),
};

const previewItem = {
  value: "preview",
  label: "preview",
  description: "Show what would be done; nothing is",
};

/** Also as the command outside of a session calls it. */
function isPreview(args: string): boolean {
  return args === "preview" || args === "--dry-run";
}

function focusOf(args: string): { focus?: string } {
  return args === "" ? {} : { focus: args };
}

async function showPreview({ host, screen, tell }: InteractiveWork): Promise<void> {
  const { agent, workshop } = host;
  const { session, model } = agent;
  const { result, lines } = compactionPreview({
    session,
    settings: workshop.settings.compaction,
    model: isNoModel(model) ? undefined : model,
    fixedTexts: fixedTexts(() => ({
      systemPrompt: agent.systemPrompt,
      tools: agent.tools.declarations(),
    })),
  });
  if (result.status !== "planned") return tell(skippedWords(result));
  await showReport(screen, lines);
}

async function askForCompaction(asked: { focus?: string }, work: InteractiveWork): Promise<void> {
  const { agent, workshop } = work.host;
  const heard: CompactionOutcome[] = [];
  const stop = workshop.lifecycle.on("auto_compaction_end", ({ outcome }) => {
    heard.push(outcome);
  });
  try {
    if (agent.isBusy && !agent.isCompacting)
      work.tell({ level: "info", message: "The context will be compacted at the next place in the work." });
    const outcome = await agent.requestCompaction(asked);
    // What never began has no event that would tell of it.
    const words = heard.some((each) => isSame(each, outcome)) ? undefined : compactionWords({ outcome });
    if (words !== undefined) work.tell(words);
  } finally {
    stop();
  }
}

function isSame(one: CompactionOutcome, other: CompactionOutcome): boolean {
  return one.reason === other.reason && one.status === other.status && one.detail === other.detail;
}
