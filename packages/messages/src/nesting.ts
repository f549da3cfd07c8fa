/** Deeper than anything that is written on purpose; far below the depth at which JSON can no longer be written. */
export const MAX_LEVELS = 200;

/** True for a value that is nested deeper than `MAX_LEVELS`: it can be read, but not be stored, copied and sent. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** A copy of a value, however deep it is nested: `structuredClone` ends where the stack does. */
export function deepCopy<Value>(value: Value): Value {
  try {
    return structuredClone(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return copyByLevels(value);
  }
}

/** For what was read from JSON: nothing in it is met twice. */
function copyByLevels<Value>(value: Value): Value {
  const holder: [Value] = [value];
  const open: object[] = [holder];
  for (const copy of open) {
    for (const [key, inner] of Object.entries(copy)) {
      if (typeof inner !== "object" || inner === null) continue;
      const copied: object = Array.isArray(inner) ? [...inner] : { ...inner };
      // `__proto__` may stand in a file; assigned, it would be no field any more.
      Object.defineProperty(copy, key, {
        value: copied,
        enumerable: true,
        configurable: true,
        writable: true,
      });
      open.push(copied);
    }
  }
  return holder[0];
}
