/** Deeper than any tool's arguments; far below the depth at which JSON can no longer be written. */
const MAX_LEVELS = 200;

/** True for a value that is nested too deep to be stored and sent. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
