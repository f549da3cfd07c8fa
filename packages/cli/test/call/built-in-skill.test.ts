import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readSkills } from "@bonsai-agent/agent";
import { expect, test } from "vitest";
import { builtInSkills } from "../../src/call/resources.ts";

test("the built-in skill has the text of its file", async () => {
  const [skill] = builtInSkills();
  const read = await readSkills([{ path: skill!.folder, origin: "package" }]);
  expect(read.problems).toEqual([]);
  expect(read.skills).toHaveLength(1);
  const { name, description, path, folder, isForModel, isForUser } = read.skills[0]!;
  expect(skill).toMatchObject({ name, description, path, folder, isForModel, isForUser });
});

test("the built-in skill names pages that exist", () => {
  const [skill] = builtInSkills();
  const named = [...readFileSync(skill!.path, "utf8").matchAll(/`docs\/([\w/-]+\.md)`/g)].map(
    ([, page]) => page!,
  );
  const docs = join(import.meta.dirname, "../../../../docs");
  for (const page of named) expect(readFileSync(join(docs, page), "utf8")).toMatch(/^# /m);
});

test("the package of the command contains the built-in skill", () => {
  const manifest = join(import.meta.dirname, "../../package.json");
  expect(JSON.parse(readFileSync(manifest, "utf8")).files).toContain("skills");
});
