import { expect, test } from "vitest";
import { redactKeys } from "../src/json-file.ts";

// No clock is read: where time were quadratic, these would take hours.
test.each([
  ...[
    "sk-",
    "-sk-a",
    "eyJ",
    "-eyJ",
    "://",
    "http://a",
    "x-api-key:,",
    "api-key:",
    "authorization=",
    "authorization",
  ],
  ...["Bearer ", "bearer", "basic:", "basic :"],
])("time is linear, for a megabyte of %j", (piece) => {
  const size = 1 << 20;
  expect(redactKeys(piece.repeat(size / piece.length)).length).toBeGreaterThan(0);
  expect(redactKeys(`${piece}${" ".repeat(size)}${piece}`).length).toBeGreaterThan(0);
});
