import { checkLoss, type LossReport, termLines, termsIn } from "@bonsai-agent/digest";
import { jsonText, type Message, messageText, toolCalls } from "@bonsai-agent/messages";
import { type CarryOver, carriedBlocks, carriedTokens } from "./carry-over.ts";
import type { Run } from "./ladder.ts";
import type { CompactionPlan } from "./plan.ts";
import { paragraphs } from "./serialise.ts";

/** What is carried behind a prose that is known now, and what the context has lost all the same. */
export interface CheckedCarryOver {
  carried: CarryOver;
  /** Absent where nothing is to be checked. */
  loss?: LossReport | undefined;
}

/**
 * Adds to the carry-over what depends on the prose: the terms that the context does not show anyway, and what the summary
 * left out.
 * @param mayPutBack false for a summary that has all of it by its making
 */
export function checkedCarryOver(
  carried: CarryOver,
  { prose, plan, run, mayPutBack }: { prose: string; plan: CompactionPlan; run: Run; mayPutBack: boolean },
): CheckedCarryOver {
  const { record } = carried;
  const { lossCheck } = run.settings;
  const tokens = carriedTokens(plan, run);
  const kept = plan.kept.map(({ message }) => shownText(message));
  const beside = paragraphs([prose, ...carriedBlocks(carried), ...kept]);
  const shownTerms = termsIn(beside);
  const terms = termLines(record.terms, tokens.terms, (term) => shownTerms.has(term));
  if (lossCheck === "off") return { carried: { ...carried, terms } };
  const shown = paragraphs([beside, ...terms]);
  const { lines: putBack, report: loss } = checkLoss(record, shown, mayPutBack ? tokens.putBack : 0);
  return { carried: { ...carried, terms, putBack }, loss };
}

/** What the model reads of a message, with the arguments of its calls. */
function shownText(message: Message): string {
  return [messageText(message), ...toolCalls(message).map((call) => jsonText(call.arguments))].join("\n");
}
