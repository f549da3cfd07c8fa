import type { DigestInput } from "../digest.ts";
import { fold } from "./fold.ts";
import { type Reading, readSpan } from "./reading.ts";
import type { Item } from "./render.ts";
import { goalItems, statementItems } from "./said-items.ts";
import { doneItems, failureItems, inProgressItems, todoItems } from "./work-items.ts";

/** All lines that could stand in the summary, scored. */
export function digestItems(input: Omit<DigestInput, "maxTokens">): Item[] {
  const reading = readSpan(input);
  const items = [
    ...goalItems(reading),
    ...statementItems(reading),
    ...doneItems(reading),
    ...inProgressItems(reading),
    ...failureItems(reading),
    ...todoItems(reading),
    ...termItems(reading),
  ];
  return distinct(focused(items, input.focus).filter((item) => item.score > 0 && isReadable(item.text)));
}

const MAX_TERMS = 40;

function termItems({ terms, supersession }: Reading): Item[] {
  return terms
    .filter((term) => !supersession.deadValues.has(term.key))
    .slice(0, MAX_TERMS)
    .map((term, at) => ({
      section: "critical",
      text:
        term.context === undefined || term.context === term.text
          ? `\`${term.text}\``
          : `\`${term.text}\`: ${term.context}`,
      score: Math.min(4.5, term.score),
      position: 1_000_000 + at,
    }));
}

/** What the user asked to dwell on comes before its equals. */
function focused(items: Item[], focus: string | undefined): Item[] {
  const words = fold(focus ?? "")
    .split(/[^\p{L}\p{N}_./-]+/u)
    .filter((word) => word.length > 2);
  if (words.length === 0) return items;
  return items.map((item) => {
    const folded = fold(item.text);
    const found = words.filter((word) => folded.includes(word)).length;
    return found === 0 ? item : { ...item, score: item.score + 1.5 + found };
  });
}

function isReadable(text: string): boolean {
  return /[\p{L}\p{N}]{2}|\p{Script=Han}/u.test(text);
}

/** Of lines that say the same, the best scored stays. */
function distinct(items: readonly Item[]): Item[] {
  const best = new Map<string, Item>();
  for (const item of items) {
    const key = wordsOf(item.text);
    const known = best.get(key);
    if (known === undefined || known.score < item.score) best.set(key, item);
  }
  return items.filter((item) => best.get(wordsOf(item.text)) === item);
}

function wordsOf(text: string): string {
  return fold(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
