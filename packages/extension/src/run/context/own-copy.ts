/** Copies by what they are copies of: an entry that is asked for again costs nothing. */
const copies = new WeakMap<object, unknown>();

/**
 * A copy that nobody can change, of what a session holds: an extension that writes to it gets an error, and neither the
 * session nor another extension sees anything of it. Only for plain data, as it is read from JSON.
 */
export function ownCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as Value;
  const copy = inner(value) as Value & object;
  copies.set(value, copy);
  // Whoever hands a copy back gets the same one.
  copies.set(copy, copy);
  return copy;
}

function inner(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(inner));
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  // What an extension has just stored may be a date or the like: it is seen as the file holds it.
  return isPlain ? Object.freeze(innerFields(value)) : inner(JSON.parse(JSON.stringify(value) ?? "null"));
}

function innerFields(value: object): object {
  const copy: Record<string, unknown> = {};
  // `__proto__` may stand in a file; assigned, it would be no field any more.
  for (const [key, each] of Object.entries(value)) {
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: inner(each), enumerable: true, configurable: true });
    else copy[key] = inner(each);
  }
  return copy;
}
