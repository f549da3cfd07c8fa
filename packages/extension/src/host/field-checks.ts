import { droppedFieldNotice } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";

/** The check of each field, and the allowed values in words. */
type FieldChecks = Readonly<Record<string, readonly [isValid: (value: unknown) => boolean, wanted: string]>>;

/** Returns registered options without invalid optional fields. Each dropped field is a notice. */
export function dropInvalidFields<Given extends object>(
  { scope, host }: ExtensionRuntime,
  call: string,
  given: Given,
  fields: FieldChecks,
): Given {
  const odd = Object.entries(fields).flatMap(([field, [isValid, wanted]]) => {
    const value = (given as Record<string, unknown>)[field];
    return value === undefined || value === null || isValid(value) ? [] : [{ field, wanted, value }];
  });
  if (odd.length === 0) return given;
  for (const { field, wanted, value } of odd)
    host.onNotice(droppedFieldNotice(scope, call, { field, wanted, value }));
  return withOverrides(given, Object.fromEntries(odd.map(({ field }) => [field, undefined])));
}

/** A view of an extension's object with other values in some fields. */
export function withOverrides<Given extends object>(given: Given, fields: object): Given {
  return Object.assign(Object.create(given) as Given, fields);
}
