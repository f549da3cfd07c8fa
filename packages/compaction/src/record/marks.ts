import type { Closing, FailedCommand } from "../details.ts";
import { failedTest } from "./error-line.ts";
import { isMeasure, sentencesOf, termsIn } from "./sentence.ts";

/** Marks an outdated sentence, with the number of the message that outdates it. */
const MARK = / ?\[(?:fixed|replaced) in \d+\]/g;

export function fixedMark(turn: number): string {
  return `[fixed in ${turn}]`;
}

export function replacedMark(turn: number): string {
  return `[replaced in ${turn}]`;
}

export function isMarked(text: string): boolean {
  return withoutMarks(text) !== text;
}

export function withoutMarks(text: string): string {
  return text.replaceAll(MARK, "");
}

/** Adds a mark before the end of the sentence, so that no later clipping separates them. */
export function markedSentence(text: string, sentence: string, mark: string): string {
  const at = text.indexOf(sentence);
  if (at < 0) return text;
  const [end] = /[.!?…。！？\s]*$/u.exec(sentence)!;
  const place = at + sentence.length - end.length;
  return `${text.slice(0, place)} ${mark}${text.slice(place)}`;
}

/** The failing test, and the place of the error. */
function failureNames(line: string): string[] {
  const test = failedTest([line]) ?? line.split(": ", 1)[0]!;
  const name = [...termsIn(test.replace(/\[.*/, ""))].findLast((term) => !isMeasure(term));
  const places = line.match(/[\w-]+\.\w{1,5}:\d+/g) ?? [];
  return name === undefined ? places : [name, ...places];
}

/** A failure that a later run closed. */
export interface ClosedFailure {
  failed: FailedCommand;
  /** The part of the check that passed, if the whole check did not run. */
  part: string | undefined;
  /** The index of the first passed check after the failure. Later statements are about the new state. */
  until: number;
  /** The number of the user's message before the later run. */
  turn: number;
}

/** Marks the agent's sentences that name the error of a failure, from the failure until the run that closed it. */
export function markFixed(
  closings: readonly Closing[],
  messages: readonly { entryId?: string | undefined }[],
  closed: readonly ClosedFailure[],
): Closing[] {
  if (closed.length === 0) return [...closings];
  const places = new Map(messages.map(({ entryId }, at) => [entryId, at]));
  const placeOf = (entryId: string | undefined) => places.get(entryId) ?? -1;
  return closings.map((closing) => {
    if (closing.by !== undefined || closing.isOnBranch || closing.entryId === undefined) return closing;
    let { text } = closing;
    for (const { failed, part = [], until, turn } of closed) {
      const place = placeOf(closing.entryId);
      if (place < placeOf(failed.entryId) || place >= until) continue;
      const names = failureNames(failed.line).concat(part);
      for (const sentence of sentencesOf(text))
        if (!isMarked(sentence) && names.some((name) => sentence.includes(name)))
          text = markedSentence(text, sentence, fixedMark(turn));
    }
    return { ...closing, text };
  });
}
