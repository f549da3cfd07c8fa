import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block of a guide, with the marks above it. */
export interface Block {
  language: string;
  text: string;
  /** Name of the file that the block shows. */
  file?: string;
  /** The test skips the block, because it needs the network. */
  isByHand: boolean;
}

export function blocksOf(guide: string): Block[] {
  const text = readFileSync(join(root, guide), "utf8");
  return [...text.matchAll(/((?:^<!-- .* -->\n)*)^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, marks = "", language, code]) => {
      const file = /<!-- file: (\S+) -->/.exec(marks)?.[1];
      const isByHand = marks.includes("<!-- by hand -->");
      return { language: language!, text: code!, isByHand, ...(file === undefined ? {} : { file }) };
    },
  );
}

/** Links the packages of this repository, as `npm install` would. */
export function installLibraries(work: string): void {
  mkdirSync(join(work, "node_modules/@bonsai-agent"), { recursive: true });
  const from = (name: string) => join(root, "examples/node_modules", name);
  for (const name of ["agent", "extension", "messages", "session"])
    symlinkSync(from(`@bonsai-agent/${name}`), join(work, "node_modules/@bonsai-agent", name));
  symlinkSync(from("zod"), join(work, "node_modules/zod"));
}
