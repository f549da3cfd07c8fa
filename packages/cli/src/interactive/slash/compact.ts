import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { compactionWords } from "../compaction/compaction-words.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import type { SlashCommand } from "./slash-command.ts";

export const compact: SlashCommand = {
  name: "compact",
  description: "Compact the context now; a focus says what the summary must keep",
  argumentHint: "[focus]",
  worksWhileBusy: true,
  run: (focus, work) => askForCompaction(focus === "" ? {} : { focus }, work),
};

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
