import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ownCopy } from "../src/host/session-manager.ts";

test("law: plain data are copied unchanged, deeply frozen, and only once", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = ownCopy(value);
      expect(copy).toEqual(value);
      expect(ownCopy(value)).toBe(copy);
      expect(ownCopy(copy)).toBe(copy);
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
      const isFrozen = (each: unknown): boolean =>
        typeof each !== "object" ||
        each === null ||
        (Object.isFrozen(each) && Object.values(each).every(isFrozen));
      expect(isFrozen(copy)).toBe(true);
    }),
  );
});

test("data nested deeper than the stack are copied", () => {
  const depth = 100_000;
  const deep: unknown = JSON.parse("[".repeat(depth) + "]".repeat(depth));
  let copy: unknown = ownCopy(deep);
  let levels = 0;
  for (; Array.isArray(copy); copy = copy[0]) levels += 1;
  expect(levels).toBe(depth);
});

test("a field called __proto__ stays a field", () => {
  const value = JSON.parse('{"__proto__": {"a": 1}, "b": 2}');
  const copy = ownCopy(value);
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1},"b":2}');
  expect(copy.a).toBeUndefined();
});

test("values that JSON changes look as in JSON", () => {
  expect(ownCopy({ at: new Date(0), map: new Map([[1, 2]]), list: [new Date(0)] })).toEqual({
    at: "1970-01-01T00:00:00.000Z",
    map: {},
    list: ["1970-01-01T00:00:00.000Z"],
  });
});
