import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textOf, toolFolder } from "./tool-folder.ts";

test("entries are sorted without regard to case, folders and links are marked", async () => {
  using folder = toolFolder();
  for (const name of ["b.txt", "A.txt", "c/x", ".env"]) folder.write(name, "");
  symlinkSync("b.txt", join(folder.path, "link"));
  symlinkSync("nowhere", join(folder.path, "Broken"));
  const result = await folder.run("ls", {});
  expect(textOf(result).split("\n")).toEqual([
    ".env",
    "A.txt",
    "b.txt",
    "Broken -> nowhere",
    "c/",
    "link -> b.txt",
  ]);
  expect(textOf(await folder.run("ls", { path: "c/" }))).toBe("x");
});

test("a limit says how many more there are", async () => {
  using folder = toolFolder();
  for (let index = 0; index < 501; index += 1) folder.write(`file${index}`, "");
  const lines = textOf(await folder.run("ls", {})).split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([501, "[1 more. Raise limit, or use find with a glob.]"]);
});

test("an empty folder, a file and a missing folder have answers of their own", async () => {
  using folder = toolFolder();
  mkdirSync(join(folder.path, "empty"));
  folder.write("file", "");
  expect(textOf(await folder.run("ls", { path: "empty" }))).toBe("(an empty folder)");
  await expect(folder.run("ls", { path: "file" })).rejects.toThrow("file is a file. Use read");
  await expect(folder.run("ls", { path: "emty" })).rejects.toThrow("There is no emty. Did you mean empty?");
});
