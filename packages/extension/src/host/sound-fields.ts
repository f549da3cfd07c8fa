import { mendNotice } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";

/** By field: what it may be, and that in words. */
type SoundFields = Readonly<Record<string, readonly [isSound: (value: unknown) => boolean, wanted: string]>>;

/**
 * What an extension registers, without those optional fields that are not what they should be; each is a notice.
 */
export function withSoundFields<Given extends object>(
  { scope, host }: ExtensionRuntime,
  call: string,
  given: Given,
  fields: SoundFields,
): Given {
  const odd = Object.entries(fields).flatMap(([field, [isSound, wanted]]) => {
    const value = (given as Record<string, unknown>)[field];
    return value === undefined || value === null || isSound(value) ? [] : [{ field, wanted, value }];
  });
  if (odd.length === 0) return given;
  for (const { field, wanted, value } of odd)
    host.onNotice(mendNotice(scope, call, { field, wanted, value }));
  return laidOver(given, Object.fromEntries(odd.map(({ field }) => [field, undefined])));
}

/** A view of an object with other values in some of its fields; the object itself is the extension's. */
export function laidOver<Given extends object>(given: Given, fields: object): Given {
  return Object.assign(Object.create(given) as Given, fields);
}
