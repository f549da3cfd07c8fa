import { type TUnsafe, Type } from "typebox";

/** One of some strings, as plain JSON Schema that every provider takes. */
export function StringEnum<Values extends readonly string[]>(
  values: Values,
  options: { description?: string; default?: Values[number] } = {},
): TUnsafe<Values[number]> {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...options });
}
