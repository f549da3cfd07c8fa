import { callsIn, type Message, messageText } from "@bonsai-agent/messages";
import { paragraphs } from "../ladder/conversation.ts";
import type { ViewItem } from "../plan/view.ts";
import { termsIn, textsIn } from "../record/sentence.ts";
import { termLines } from "../record/terms.ts";
import type { CompactionSettings } from "../settings.ts";
import { type CarryOver, carriedBlocks } from "./carry-over.ts";
import { checkLoss, type LossReport } from "./loss.ts";

/** What is carried behind a prose that is known now, and what the context has lost all the same. */
export interface CheckedCarryOver {
  carried: CarryOver;
  /** Absent where nothing is to be checked. */
  loss?: LossReport | undefined;
}

interface CheckOptions {
  prose: string;
  /** What the context shows beside the summary. Default: nothing. */
  kept?: readonly ViewItem[];
  settings: Pick<CompactionSettings, "lossCheck">;
  /** What the index of terms may take. */
  termsTokens: number;
  /** What may be put back: 0 for a summary that has all of it by its making, and for one of an extension's own. */
  putBackTokens: number;
}

/**
 * Adds to the carry-over what depends on the prose: the terms that the context does not show anyway, and what the summary
 * left out.
 */
export function checkedCarryOver(carried: CarryOver, options: CheckOptions): CheckedCarryOver {
  const { prose, kept = [], settings, termsTokens, putBackTokens } = options;
  const { record } = carried;
  const keptTexts = kept.map(({ message }) => shownText(message));
  const beside = paragraphs([prose, ...carriedBlocks(carried), ...keptTexts]);
  const shownTerms = termsIn(beside);
  const terms = termLines(record.terms, termsTokens, (term) => shownTerms.has(term));
  if (settings.lossCheck === "off") return { carried: { ...carried, terms } };
  const { lines: putBack, report: loss } = checkLoss(record, { text: beside, index: terms }, putBackTokens);
  return { carried: { ...carried, terms, putBack }, loss };
}

/** What the model reads of a message, with the arguments of its calls. */
function shownText(message: Message): string {
  return [messageText(message), ...callsIn(message).flatMap((call) => textsIn(call.arguments))].join("\n");
}
