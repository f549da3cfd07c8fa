import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { importExtension } from "../src/index.ts";

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-extension-"));
  for (const [name, text] of Object.entries(files)) write(folder, name, text);
  return folder;
}

function write(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

test("loads TypeScript with the host's own zod, by Node itself", async () => {
  const folder = folderWith({
    "index.ts": `import { z } from "zod"; import { one } from "./one.js"; export default () => [z, one, new Error().stack];`,
    "one.ts": "export const one: number = 1;",
  });
  const factory = (await importExtension({
    path: join(folder, "index.ts"),
    modules: { zod: () => import("zod") },
  })) as unknown as () => [unknown, number, string];
  const [theirs, one, stack] = factory();
  expect(theirs).toBe(z);
  expect(one).toBe(1);
  expect(stack).toMatch(/file:.*index\.ts\?bonsai=\d+:1:\d+/);
});
