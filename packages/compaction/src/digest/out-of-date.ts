import { fold } from "./fold.ts";
import { hasToken } from "./has-token.ts";
import type { Statement } from "./statement.ts";
import type { Supersession } from "./supersede.ts";

/** True for a statement that was replaced, or that rests on a value which was replaced since. */
export function isOutOfDate(statement: Statement, { replaced, deadValues }: Supersession): boolean {
  if (replaced.has(statement)) return true;
  return statement.values.some((value) => {
    const dead = deadValues.get(value.key);
    if (dead === undefined || dead.order <= statement.order || value.key.length < 2) return false;
    return dead.by === "" || !hasToken(statement.folded, fold(dead.by));
  });
}

const QUOTE_CHARS = 24;

/** The line without its quotations of statements that were replaced. */
export function withoutReplacedQuotes(text: string, { replaced }: Supersession): string {
  if (replaced.size === 0 || !text.includes("“")) return text;
  const gone = [...replaced]
    .map((statement) => statement.text.slice(0, QUOTE_CHARS))
    .filter((said) => said.length > 8);
  return text
    .replace(/“([^”]*)”(?:, )?/g, (quoted) => (gone.some((said) => quoted.includes(said)) ? "" : quoted))
    .replace(/^\s*—\s*/, "")
    .replace(/, —/, " —");
}

/** True for a line that names a replaced value and not the one that took its place. */
export function namesReplaced(text: string, { deadValues }: Supersession): boolean {
  if (deadValues.size === 0) return false;
  const folded = fold(text);
  return [...deadValues].some(
    ([key, { by }]) => key.length > 2 && hasToken(folded, key) && (by === "" || !hasToken(folded, fold(by))),
  );
}

/**
 * The line with a note of what took a replaced value's place: a goal outlives the details it was first told with. What
 * the user said is left as it was said; the note stands behind it.
 */
export function broughtUpToDate(text: string, order: number, { deadValues }: Supersession): string {
  const folded = fold(text);
  for (const [key, { by, order: changedAt }] of deadValues) {
    if (changedAt <= order || by === "" || key.length < 3) continue;
    if (hasToken(folded, key) && !hasToken(folded, fold(by))) return `${text} [changed since: ${by}]`;
  }
  return text;
}
