/** What a field of a known kind holds, and what is read where it holds something else. */
export interface FieldRule {
  readonly field: string;
  readonly isSound: (value: unknown) => boolean;
  /** What stands for an odd value; undefined takes the field away. */
  readonly safe: (value: unknown, record: Fields) => unknown;
  /** True for a field that may be absent. */
  readonly isOptional?: boolean;
}

export type Fields = Record<string, unknown>;

/** Puts safe values where odd ones stand, in place. @param odd gets the names of those fields. */
export function mendFields(
  record: Fields,
  rules: readonly FieldRule[],
  note: { odd: string[] | undefined; prefix?: string },
): void {
  for (const rule of rules) {
    if (isMet(rule, record)) continue;
    const { field } = rule;
    const mended = rule.safe(record[field], record);
    if (mended === undefined) delete record[field];
    else record[field] = mended;
    note.odd?.push(`${note.prefix ?? ""}${field}`);
  }
}

/** True where the record's field holds what it should. */
export function isMet({ field, isSound, isOptional }: FieldRule, record: Fields): boolean {
  const value = record[field];
  return (value === undefined && isOptional === true) || isSound(value);
}

export function text(field: string, fallback = ""): FieldRule {
  return { field, isSound: isText, safe: () => fallback };
}

/** A field that may be absent; null is read as absent. */
export function flag(field: string): FieldRule {
  const isSound = (value: unknown) => value === undefined || value === null || typeof value === "boolean";
  return { field, isSound, safe: (value) => Boolean(value) };
}

/** As the rule, but the field may be absent, and is taken away where it is odd. */
export function optional({ field, isSound }: FieldRule): FieldRule {
  return { field, isSound, safe: () => undefined, isOptional: true };
}

/** A number that counts something. */
export function amount(field: string): FieldRule {
  return { field, isSound: isAmount, safe: () => 0 };
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
