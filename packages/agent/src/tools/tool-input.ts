import { z } from "zod";

/** The schema of a tool's arguments. An optional one may be null: some models fill in all that a schema names. */
export function toolInput<Shape extends z.ZodRawShape>(shape: Shape): z.ZodPreprocess<z.ZodObject<Shape>> {
  return z.preprocess(withoutNulls, z.object(shape));
}

function withoutNulls(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}
