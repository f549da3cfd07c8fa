import { damagedSessions } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";

test("every damaged file differs from every other, and is made anew at each call", () => {
  const files = damagedSessions();
  const contents = Object.values(files).map((bytes) => bytes.toString("latin1"));
  expect(new Set(contents).size).toBe(contents.length);
  files.empty.write("spoiled");
  files["byte-order mark"].fill(0);
  expect(damagedSessions()["byte-order mark"][0]).toBe(0xef);
});

test.each([
  ["torn last line", /[^\n]$/],
  ["invalid UTF-8", /\xff\xfe\xc3\(/],
  ["NUL tail", /\0{4096}$/],
  ["CRLF", /\r\n$/],
  ["byte-order mark", /^\xef\xbb\xbf\{/],
  ["cycle", /"id":"a1","parentId":"a4"/],
] as const)("%s is what it says", (name, expected) => {
  expect(damagedSessions()[name].toString("latin1")).toMatch(expected);
});
