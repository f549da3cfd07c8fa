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

test.each(searches)("the glob %s finds the same files in find and in grep", async (glob, expected) => {
  using folder = project();
  const found = textOf(await folder.run("find", { pattern: glob })).split("\n");
  const grepped = textOf(await folder.run("grep", { pattern: "needle", glob })).split("\n");
  expect(found.filter((path) => !path.endsWith("/")).sort()).toEqual(expected.toSorted());
  expect(grepped.map((line) => line.replace(/:1: a needle$/, "")).sort()).toEqual(expected.toSorted());
});

test.each(["app/[id]", "app/(group)", "lib/it's.md"])(
  "find, grep, ls and read take the path %s",
  async (path) => {
    using folder = project();
    expect(textOf(await folder.run("grep", { pattern: "needle", path }))).toContain(`${path}`);
    if (path.endsWith(".md")) expect(textOf(await folder.run("read", { path }))).toBe("a needle\n");
    else expect(textOf(await folder.run("find", { pattern: "*.tsx", path }))).toContain(`${path}/`);
  },
);

test("brackets in .gitignore keep git's meaning", async () => {
  using folder = toolFolder();
  folder.write(".gitignore", "[id].ts\n");
  for (const name of ["[id].ts", "i.ts"]) folder.write(name, "");
  expect(textOf(await folder.run("find", { pattern: "*.ts" }))).toBe("[id].ts");
});
