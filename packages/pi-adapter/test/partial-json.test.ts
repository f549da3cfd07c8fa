import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonWithRepair, parseStreamingJson, repairJson } from "../src/modules/ai.ts";

test.each([
  [undefined, {}],
  ["", {}],
  ["{", {}],
  ['{"path": "src/ma', { path: "src/ma" }],
  ['{"path": "a", "li', { path: "a" }],
  ['{"path": "a", "limit": 1', { path: "a", limit: 1 }],
  ['{"path": "a", "limit":', { path: "a" }],
  ['{"edits": [{"old": "x"}, {"old": "y\\', { edits: [{ old: "x" }, { old: "y" }] }],
  ['{"done": tru', {}],
  ['{"text": "a\\u00', { text: "a" }],
  ['{"text": "two\nlines"}', { text: "two\nlines" }],
  ["[1, 2", {}],
  ["no JSON", {}],
])("of %j so far", (text, value) => {
  expect(parseStreamingJson(text)).toEqual(value);
});

test("of any arguments, each beginning is an object, and the whole is what was written", () => {
  const values = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(values, fc.nat(), (value, cut) => {
      const text = JSON.stringify(value);
      expect(parseStreamingJson(text)).toEqual(JSON.parse(text));
      expect(parseStreamingJson(text.slice(0, cut % (text.length + 1)))).toBeTypeOf("object");
    }),
  );
});

test("signs that JSON does not take are escaped", () => {
  expect(repairJson('{"a": "C:\\dir\tx"}')).toBe('{"a": "C:\\\\dir\\tx"}');
  expect(parseJsonWithRepair('{"a": "b\n"}')).toEqual({ a: "b\n" });
  expect(() => parseJsonWithRepair("{")).toThrow(SyntaxError);
});
