import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writtenForPi } from "../src/written-for-pi.ts";

const folder = mkdtempSync(join(tmpdir(), "written-for-pi-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";', true],
  ["import { complete } from '@mariozechner/pi-ai';", true],
  ['import { ExtensionAPI } from "@bonsai-agent/extension";', false],
  ['import "@bonsai-agent/extension"; import "@earendil-works/pi-tui";', false],
  ["export default (api) => {};", false],
  ["export default function (pi) {}", true],
  ["export default async (pi) => {};", true],
  ["export default function named(pi: ExtensionAPI) {}", true],
  ["export default function (pipe) {}", false],
  ['import "@bonsai-agent/extension"; export default function (pi) {}', false],
])("%s", (text, is) => {
  const path = join(folder, "extension.ts");
  writeFileSync(path, text);
  expect(writtenForPi(path)).toBe(is);
});

test("what is no file was not written for pi", () => {
  expect(writtenForPi("inline:extension")).toBe(false);
});
