import type { DigestInput } from "./digest-input.ts";
import { fold } from "./fold.ts";
import { hasToken } from "./has-token.ts";
import { type Reading, readSpan } from "./reading.ts";
import type { Item } from "./render.ts";
import { goalItems, statementItems } from "./said-items.ts";
import type { Term } from "./terms.ts";
import { doneItems, failureItems, inProgressItems, todoItems } from "./work-items.ts";

/** All lines that could stand in the summary, scored. */
export function digestItems(input: Omit<DigestInput, "maxTokens">): Item[] {
  const reading = readSpan(input);
  const goal = goalItems(reading);
  // A turn prefix has a first request too, but its line does not last.
  const first = (input.kind === "history" && goal.find((item) => item.score >= FIRST_GOAL_SCORE)?.text) || "";
  const stated = statementItems(reading).filter((item) => !first.includes(item.text));
  const items = [
    ...goal,
    ...stated,
    ...doneItems(reading),
    ...inProgressItems(reading),
    ...failureItems(reading),
    ...todoItems(reading),
    ...termItems(reading, stated),
  ];
  return distinct(
    focused(withoutOldNames(items), input.focus).filter((item) => item.score > 0 && isReadable(item.text)),
  );
}

/** The first request stands whatever else does, so what it says need not be said again. */
const FIRST_GOAL_SCORE = 12;
const NAMES_LINE = "Came up again and again:";
const MAX_NAMES = 14;
const MAX_SHOWN_LINES = 5;

/** What the span keeps coming back to and no line told yet: lines of output that show a value, then bare names. */
function termItems({ terms, supersession }: Reading, told: readonly Item[]): Item[] {
  const text = told
    .filter((item) => item.score >= 4)
    .map((item) => fold(item.text))
    .join("\n");
  const untold = terms.filter((term) => !supersession.deadValues.has(term.key) && !hasToken(text, term.key));
  const shown = untold.filter((term) => term.context !== undefined).slice(0, MAX_SHOWN_LINES);
  const names = untold.filter((term) => term.context === undefined && term.score >= 2).slice(0, MAX_NAMES);
  return [
    ...shown.map(
      (term, at): Item => ({
        section: "critical",
        text: `\`${term.text}\`: ${term.context}`,
        score: Math.min(4.5, term.score + 1),
        position: 1_000_000 + at,
      }),
    ),
    ...(names.length === 0 ? [] : [namesItem(names)]),
  ];
}

/** A new line of names takes the place of the former summary's. */
function withoutOldNames(items: readonly Item[]): Item[] {
  const newest = items.findLast((item) => item.text.startsWith(NAMES_LINE));
  return items.filter((item) => item === newest || !item.text.startsWith(NAMES_LINE));
}

function namesItem(names: readonly Term[]): Item {
  const text = `${NAMES_LINE} ${names.map((term) => `\`${term.text}\``).join(", ")}`;
  return { section: "critical", text, score: 5, position: 2_000_000 };
}

/** What the user asked to dwell on comes before its equals. */
function focused(items: readonly Item[], focus: string | undefined): Item[] {
  const words = fold(focus ?? "")
    .split(/[^\p{L}\p{N}_./-]+/u)
    .filter((word) => word.length > 2);
  if (words.length === 0) return [...items];
  return items.map((item) => {
    const folded = fold(item.text);
    const found = words.filter((word) => folded.includes(word)).length;
    return found === 0 ? item : { ...item, score: item.score + 1.5 + found };
  });
}

function isReadable(text: string): boolean {
  return /[\p{L}\p{N}]{2}|\p{Script=Han}/u.test(text);
}

/** Of lines that say the same, the best scored stays. What is being worked on may repeat what was said. */
function distinct(items: readonly Item[]): Item[] {
  const best = new Map<string, Item>();
  for (const item of items) {
    const known = best.get(identity(item));
    if (known === undefined || known.score < item.score) best.set(identity(item), item);
  }
  return items.filter((item) => best.get(identity(item)) === item);
}

function identity({ text, section }: Item): string {
  const words = fold(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
  return section === "inProgress" || section === "done" ? `${section} ${words}` : words;
}
