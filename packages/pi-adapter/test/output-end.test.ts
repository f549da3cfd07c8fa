import { expect, test } from "vitest";
import { OutputEnd } from "../src/tools/bash-operations.ts";

test("a short output is whole, also where a character comes in two pieces", () => {
  const end = new OutputEnd();
  const bytes = Buffer.from("grün\n");
  end.push(bytes.subarray(0, 3));
  end.push(bytes.subarray(3));
  expect(end.text).toBe("grün\n");
});

test("of a long output the end is kept, with its size", () => {
  const end = new OutputEnd();
  for (let line = 1; line <= 50_000; line += 1) end.push(Buffer.from(`line ${line}\n`));
  expect(end.text).toMatch(/^\[The last part of 526\.3KB of output\]\nline 4\d{4}\n[\s\S]*line 50000\n$/);
  expect(Buffer.byteLength(end.text)).toBeLessThan(51_300);
});
