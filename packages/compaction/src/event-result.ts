/** What each field of an event's result must be, or in words what is wrong with it; no field can be missing here. */
export type ResultFields<Result> = {
  readonly [Field in keyof Required<Result>]: (value: unknown) => boolean | string;
};

/**
 * A guard for handlers' results: fields that are known must be what they should be; an object of nothing but
 * unknown fields is a slip of the pen (`{cancle: true}`), not a result.
 */
export function isResultOf<Result>(fields: ResultFields<Result>): (value: object) => boolean | string {
  return (value) => {
    const given = Object.entries(value).filter(([, each]) => each !== undefined);
    const known = given.filter(([name]) => Object.hasOwn(fields, name));
    if (given.length > 0 && known.length === 0) return false;
    const verdicts = known.map(([name, each]) => fields[name as keyof Result](each));
    return verdicts.find((verdict) => verdict !== true) ?? true;
  };
}

export const isBoolean = (value: unknown): boolean => typeof value === "boolean";
export const isText = (value: unknown): boolean => typeof value === "string";
export const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
export const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
