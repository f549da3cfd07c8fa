import { undoLatestCompaction } from "../../reports/compaction-record.ts";
import { count, counted } from "../../views/numbers.ts";
import { passedThreshold } from "../compaction/passed-threshold.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import type { SlashCommand } from "./slash-command.ts";

export const undo: SlashCommand = {
  name: "undo",
  description: "Take the latest compaction back: the whole history is in view again",
  run: (_args, work) => undoCompaction(work),
};

function undoCompaction({ host, chat, tell, contextChanged }: InteractiveWork): void {
  const { agent } = host;
  const { tokensBefore, tokensAfter } = undoLatestCompaction(agent.session, () => agent.state.context.tokens);
  chat.rebuild(agent.session);
  contextChanged();
  const sizes = `${count(tokensBefore)} → about ${counted(tokensAfter, "token")}`;
  const aboutEntryId = agent.session.leafId ?? undefined;
  tell({ level: "info", message: `The compaction was taken back: ${sizes}.`, aboutEntryId });
  const warning = aboveThreshold({ host }, tokensAfter);
  if (warning !== undefined) tell({ level: "warning", message: warning, aboutEntryId });
}

function aboveThreshold(work: Pick<InteractiveWork, "host">, tokens: number): string | undefined {
  const limit = passedThreshold(work, tokens);
  if (limit === undefined) return undefined;
  return `That is above ${counted(limit, "token")}: the next prompt compacts again, unless you go back (/tree) or choose a model with a larger window first.`;
}
