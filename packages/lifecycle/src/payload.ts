/** A frozen copy for handlers: what one of them assigns, the next does not see. */
export function frozenCopy<Payload extends object>(payload: Payload): Readonly<Payload> {
  return Object.freeze({ ...payload });
}

/** Freezes the values of the named fields, and the arrays and plain objects directly in those. */
export function freezeFields(payload: object, fields: readonly PropertyKey[]): void {
  for (const field of fields) {
    const value: unknown = Reflect.get(payload, field);
    if (!isFreezable(value)) continue;
    Object.freeze(value);
    for (const part of Array.isArray(value) ? [] : Object.values(value)) {
      if (isFreezable(part)) Object.freeze(part);
    }
  }
}

/** Maps, signals, class instances keep their inner state whether frozen or not, and may rely on being writable. */
function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
