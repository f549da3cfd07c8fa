import { fold } from "./fold.ts";
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

/** True for a line that names a replaced value and not the one that took its place. */
export function namesReplaced(text: string, { deadValues }: Supersession): boolean {
  if (deadValues.size === 0) return false;
  const folded = fold(text);
  return [...deadValues].some(
    ([key, { by }]) => key.length > 2 && hasToken(folded, key) && (by === "" || !hasToken(folded, fold(by))),
  );
}

/** The line with a value that was replaced later put right: a goal outlives the details it was first told with. */
export function broughtUpToDate(text: string, order: number, { deadValues }: Supersession): string {
  for (const [key, { by, order: changedAt }] of deadValues) {
    const folded = fold(text);
    if (
      changedAt <= order ||
      by === "" ||
      key.length < 3 ||
      !hasToken(folded, key) ||
      hasToken(folded, fold(by))
    )
      continue;
    const pattern = new RegExp(key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
    return text.replace(pattern, () => `${by} (changed)`);
  }
  return text;
}

export function hasToken(folded: string, key: string): boolean {
  if (key === "") return false;
  for (let at = folded.indexOf(key); at !== -1; at = folded.indexOf(key, at + 1))
    if (!isWordChar(folded[at - 1]) && !isWordChar(folded[at + key.length])) return true;
  return false;
}

function isWordChar(char: string | undefined): boolean {
  return char !== undefined && /[a-z0-9_]/i.test(char);
}
