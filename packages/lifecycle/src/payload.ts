/**
 * A frozen copy for handlers, with more fields: what one of them assigns, the next does not see. A getter stays a getter:
 * what is read or computed there is paid for by the handler that asks for it, and by no other.
 */
export function frozenCopy(payload: object, more: object = {}): object {
  const copy = {};
  for (const source of [payload, more])
    for (const key of Reflect.ownKeys(source)) {
      const field = Reflect.getOwnPropertyDescriptor(source, key)!;
      if (field.enumerable) Object.defineProperty(copy, key, { ...field, configurable: true });
    }
  return Object.freeze(copy);
}

/** Freezes the values of the named fields, and the arrays and plain objects directly in those; no getter is asked. */
export function freezeFields(payload: object, fields: readonly PropertyKey[]): void {
  for (const field of fields) {
    const value = heldValue(payload, field);
    if (!isFreezable(value)) continue;
    Object.freeze(value);
    for (const key of Array.isArray(value) ? [] : Reflect.ownKeys(value)) {
      const part = heldValue(value, key);
      if (isFreezable(part)) Object.freeze(part);
    }
  }
}

function heldValue(of: object, key: PropertyKey): unknown {
  return Reflect.getOwnPropertyDescriptor(of, key)?.value;
}

/** Maps, signals, class instances keep their inner state whether frozen or not, and may rely on being writable. */
function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
