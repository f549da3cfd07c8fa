/** Copies by what they are copies of: an entry that is asked for again costs nothing. */
const copies = new WeakMap<object, object>();

/**
 * A copy that nobody can change, of what a session holds: an extension that writes to it gets an error, and neither the
 * session nor another extension sees anything of it.
 */
export function ownCopy<Value>(value: Value): Value {
  if (!isObject(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as Value & object;
  const copy = frozenCopy(value);
  copies.set(value, copy);
  // Whoever hands a copy back gets the same one.
  copies.set(copy, copy);
  return copy as Value & object;
}

/** Level by level, for a file may hold data that are nested deeper than calls can be. */
function frozenCopy(root: object): object {
  const copied = [{ source: root, copy: emptyLike(root) }];
  for (const { source, copy } of copied) {
    for (const [key, value] of Object.entries(source)) {
      const stored: unknown = isObject(value) && !isPlain(value) ? asStored(value) : value;
      const part = isObject(stored) ? emptyLike(stored) : stored;
      if (isObject(stored)) copied.push({ source: stored, copy: part as object });
      setField(copy, key, part);
    }
  }
  for (const { copy } of copied) Object.freeze(copy);
  return copied[0]!.copy;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

/** What an extension has just stored may be a date or the like: it is seen as the file holds it. */
function asStored(value: object): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}

/** `__proto__` may stand in a file; assigned, it would be no field any more. */
function setField(copy: object, key: string, value: unknown): void {
  if (key !== "__proto__") (copy as Record<string, unknown>)[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}
