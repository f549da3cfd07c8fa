import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { filesBelow, readExtensions, readPackages, shown } from "./structure/workspace.ts";
import { readTexts } from "./texts/read-texts.ts";

// Lists every text that a user or a model can read, with its place: `pnpm texts [PART OF A PATH…]`.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const wanted = process.argv.slice(2);
const files = [...readPackages(root), ...readExtensions(root)]
  .filter(({ directory }) => directory !== "testkit")
  .flatMap(({ folder }) =>
    filesBelow(folder, [".ts", ".tsx"]).filter((file) => isProduct(relative(folder, file))),
  )
  .filter((file) => wanted.length === 0 || wanted.some((part) => shown(root, file).includes(part)));

let count = 0;
for (const file of files) {
  for (const { line, text } of readTexts(file, readFileSync(file, "utf8"))) {
    console.log(`${shown(root, file)}:${line}\t${JSON.stringify(text)}`);
    count += 1;
  }
}
console.error(`${count} texts in ${files.length} files`);

/** True for sources of a package, its browser program, and modules beside an extension's manifest. */
function isProduct(path: string): boolean {
  return (
    /^(src|browser)\//.test(path) ||
    (/^[^/]+\.ts$/.test(path) && !/^(build|third-party)\.ts$|\.config\.ts$/.test(path))
  );
}
