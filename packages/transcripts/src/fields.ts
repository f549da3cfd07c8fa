/** A JSON object from a file that somebody else wrote: nothing about its fields is known. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function stringAt(fields: Fields | undefined, name: string): string | undefined {
  const value = fields?.[name];
  return typeof value === "string" ? value : undefined;
}

/** An id or a type as a key; `unknown` for what is none: to make a text of nested lists takes as deep a stack. */
export function nameOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number"
    ? String(value)
    : value === undefined
      ? "undefined"
      : "unknown";
}

/** A finite number, else 0: counts of tokens and money are read with it. */
export function numberAt(fields: Fields | undefined, name: string): number {
  const value = fields?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function fieldsAt(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name];
  return isFields(value) ? value : undefined;
}

/** The objects of a list field; anything else in it is left out. */
export function listAt(fields: Fields | undefined, name: string): Fields[] {
  const value = fields?.[name];
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function stringsAt(fields: Fields | undefined, name: string): string[] {
  const value = fields?.[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** ISO 8601 of a date string or of milliseconds since the epoch; undefined for anything else. */
export function isoTime(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
