/** Far deeper than any message, and far from the end of the stack. */
const MOST_LEVELS = 500;

/** A value as JSON. What is nested deeper than JSON can be written is named in its place; all around it is told. */
export function outputJson(value: unknown, indent: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify(value, depthGuard(), indent);
  }
}

function depthGuard(): (this: object, key: string, value: unknown) => unknown {
  const levels = new WeakMap<object, number>();
  return function guard(this: object, _key, value) {
    if (typeof value !== "object" || value === null) return value;
    const level = (levels.get(this) ?? 0) + 1;
    if (level > MOST_LEVELS) return "[nested too deeply to show]";
    levels.set(value, level);
    return value;
  };
}
