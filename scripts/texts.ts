import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesBelow, readExtensions, readPackages, shown } from "./structure/workspace.ts";
import { readTexts } from "./texts/read-texts.ts";

// Lists every text that a user or a model can read, with its place: `pnpm texts [PART OF A PATH…]`.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const wanted = process.argv.slice(2);
const folders = [...readPackages(root), ...readExtensions(root)]
  .filter(({ directory }) => directory !== "testkit")
  .flatMap(({ folder }) => [join(folder, "src"), join(folder, "browser"), join(folder, "index.ts")]);
const files = folders
  .flatMap((folder) => (folder.endsWith(".ts") ? [folder] : filesBelow(folder, [".ts", ".tsx"])))
  .filter((file) => wanted.length === 0 || wanted.some((part) => shown(root, file).includes(part)));

let count = 0;
for (const file of files) {
  for (const { line, text } of readTexts(file, readSource(file))) {
    console.log(`${shown(root, file)}:${line}\t${JSON.stringify(text)}`);
    count += 1;
  }
}
console.error(`${count} texts in ${files.length} files`);

function readSource(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
