import fc from "fast-check";
import { expect, test } from "vitest";
import { mayBeJson } from "../src/read/entry-head.ts";

const may = (text: string) => mayBeJson(Buffer.from(text), 0, Buffer.byteLength(text));

test("law: what is JSON is never taken for garbage", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, 4), (json, indent) => {
      expect(may(JSON.stringify(JSON.parse(json), null, indent))).toBe(true);
      expect(may(json.trim())).toBe(true);
    }),
  );
  for (const text of ["1e999", "-0", "0.5E-3", "[ ]", "{ }", '""', "[ -1]", "[null]"])
    expect(may(text)).toBe(true);
});

const garbage = ["", "x", "{", "[", '"', "{x}", "[x]", "[INFO] [x]", "tru", "-", "1x", "}"];
test("garbage is known at a glance", () => {
  for (const text of garbage) expect.soft(may(text), text).toBe(false);
});
