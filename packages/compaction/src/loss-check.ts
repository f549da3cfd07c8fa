import { checkLoss, type LossReport, termLines, termsIn, textsIn } from "@bonsai-agent/digest";
import { type Message, messageText, toolCalls } from "@bonsai-agent/messages";
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

interface CheckOptions {
  prose: string;
  plan: CompactionPlan;
  run: Run;
  /** False for a summary that has all of it by its making, and for one of an extension's own. */
  mayPutBack: boolean;
  /** What the index of terms may take. Default: as the settings say. */
  termsTokens?: number;
}

/**
 * Adds to the carry-over what depends on the prose: the terms that the context does not show anyway, and what the summary
 * left out.
 */
export function checkedCarryOver(carried: CarryOver, options: CheckOptions): CheckedCarryOver {
  const { prose, plan, run, mayPutBack, termsTokens = carriedTokens(plan, run).terms } = options;
  const { record } = carried;
  const { lossCheck } = run.settings;
  const kept = plan.kept.map(({ message }) => shownText(message));
  const beside = paragraphs([prose, ...carriedBlocks(carried), ...kept]);
  const shownTerms = termsIn(beside);
  const terms = termLines(record.terms, termsTokens, (term) => shownTerms.has(term));
  if (lossCheck === "off") return { carried: { ...carried, terms } };
  const putBackTokens = mayPutBack ? carriedTokens(plan, run).putBack : 0;
  const { lines: putBack, report: loss } = checkLoss(record, { text: beside, index: terms }, putBackTokens);
  return { carried: { ...carried, terms, putBack }, loss };
}

/** What the model reads of a message, with the arguments of its calls. */
function shownText(message: Message): string {
  return [messageText(message), ...toolCalls(message).flatMap((call) => textsIn(call.arguments))].join("\n");
}
