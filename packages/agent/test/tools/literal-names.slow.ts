import { expect, test } from "vitest";
import { type ToolFolder, textOf, toolFolder } from "./tool-folder.ts";

/** Files whose names contain characters of globs. */
const names = [
  "app/[id]/page.tsx",
  "app/[id]/[[...slug]].tsx",
  "app/(group)/{x}.tsx",
  "app/i/other.tsx",
  "lib/[id].ts",
  "lib/i.ts",
  "lib/{1..2}.ts",
  "lib/{a,b}.ts",
  "lib/a.ts",
  "lib/what?.md",
  "lib/it's.md",
  "lib/a[b.md",
  "!first.md",
];

const searches: [string, string[]][] = [
  ["app/[id]/*", ["app/[id]/[[...slug]].tsx", "app/[id]/page.tsx"]],
  ["app/[id]/page.tsx", ["app/[id]/page.tsx"]],
  ["app/[id]/**", ["app/[id]/[[...slug]].tsx", "app/[id]/page.tsx"]],
  ["**/[id]/p*.tsx", ["app/[id]/page.tsx"]],
  ["*/[id]/page.{ts,tsx}", ["app/[id]/page.tsx"]],
  ["[[...slug]].tsx", ["app/[id]/[[...slug]].tsx"]],
  ["[[...slug]].*", ["app/[id]/[[...slug]].tsx"]],
  ["app/(group)/*", ["app/(group)/{x}.tsx"]],
  ["{x}.tsx", ["app/(group)/{x}.tsx"]],
  ["app/*/{x}.tsx", ["app/(group)/{x}.tsx"]],
  ["lib/[id].ts", ["lib/[id].ts"]],
  ["[id].ts", ["lib/[id].ts", "lib/i.ts"]],
  ["lib/{[id],a}.ts", ["lib/[id].ts", "lib/a.ts", "lib/i.ts"]],
  ["lib/{1..2}.ts", ["lib/{1..2}.ts"]],
  ["lib/{a,b}.ts", ["lib/a.ts", "lib/{a,b}.ts"]],
  ["lib/what?.md", ["lib/what?.md"]],
  ["it's.md", ["lib/it's.md"]],
  ["a[b.md", ["lib/a[b.md"]],
  ["\\[id\\].ts", ["lib/[id].ts"]],
  ["lib/[!i].ts", ["lib/a.ts"]],
  ["!first.md", ["!first.md"]],
];

function project(): ToolFolder {
  const folder = toolFolder({ env: { PATH: "" } });
  for (const name of names) folder.write(name, "a needle\n");
  return folder;
}

test("a glob finds the same files in find and in grep", async () => {
  using folder = project();
  for (const [glob, expected] of searches) {
    const found = textOf(await folder.run("find", { pattern: glob })).split("\n");
    const grepped = textOf(await folder.run("grep", { pattern: "needle", glob })).split("\n");
    expect.soft(found.filter((path) => !path.endsWith("/")).sort(), glob).toEqual(expected.toSorted());
    expect
      .soft(grepped.map((line) => line.replace(/:1: a needle$/, "")).sort(), glob)
      .toEqual(expected.toSorted());
  }
});

test("find, grep, ls and read take paths with characters of globs", async () => {
  using folder = project();
  for (const path of ["app/[id]", "app/(group)", "lib/it's.md"]) {
    expect.soft(textOf(await folder.run("grep", { pattern: "needle", path })), path).toContain(`${path}`);
    if (path.endsWith(".md"))
      expect.soft(textOf(await folder.run("read", { path })), path).toBe("a needle\n");
    else
      expect.soft(textOf(await folder.run("find", { pattern: "*.tsx", path })), path).toContain(`${path}/`);
  }
});

test("brackets in .gitignore keep git's meaning", async () => {
  using folder = toolFolder();
  folder.write(".gitignore", "[id].ts\n");
  for (const name of ["[id].ts", "i.ts"]) folder.write(name, "");
  expect(textOf(await folder.run("find", { pattern: "*.ts" }))).toBe("[id].ts");
});
