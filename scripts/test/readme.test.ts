import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
/** As wide as the README's blocks. */
const columns = 90;
let folder: string;

// Where a reader of the README is: in a folder with the session and the extension that it speaks of, without any key.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-readme-"));
  copyFileSync(join(root, "examples/workday.jsonl"), join(folder, "session.jsonl"));
  copyFileSync(join(root, "examples/10-my-summary.ts"), join(folder, "my-summary.ts"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function bonsai(line: string): { status: number | null; stdout: string; stderr: string } {
  const main = join(root, "packages/cli/src/main.ts");
  const argv = ["--conditions=@bonsai-agent/source", "--no-warnings", main, ...line.split(" ").slice(1)];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, COLUMNS: String(columns) };
  return spawnSync(process.execPath, argv, { cwd: folder, encoding: "utf8", input: "", env });
}

interface Shown {
  line: string;
  /** What the README shows of its output; undefined where it shows none. */
  output: string | undefined;
}

/** The commands of the README in their order. */
const shown = [...readme.matchAll(/^```(console|sh)\n([\s\S]*?)^```$/gm)].flatMap(
  ([, kind, block]): Shown[] =>
    kind === "console"
      ? block!
          .split(/^\$ /m)
          .slice(1)
          .map((part) => {
            const [line, ...output] = part.trimEnd().split("\n");
            return { line: line!, output: output.join("\n") };
          })
      : block!.split("\n").flatMap((text) => {
          const line = text.replace(/ +#.*$/, "");
          return /^bonsai [a-z]+ session\.jsonl/.test(line) ? [{ line, output: undefined }] : [];
        }),
);

test("the README shows enough to be worth the name", () => {
  expect(shown.length).toBeGreaterThan(8);
  expect(new Set(shown.map(({ line }) => line.split(" ")[1]))).toEqual(
    new Set(["demo", "compact", "tree", "undo", "redo", "diff", "merge", "goto", "fork"]),
  );
});

test("what the README shows of each command is what the command does, in the README's order", () => {
  for (const { line, output } of shown) {
    const { status, stdout, stderr } = bonsai(line);
    expect([line, status, stderr]).toEqual([line, 0, ""]);
    if (output !== undefined) expect(inOrder(stdout, output.split(/^…$/m))).toEqual([]);
  }
});

/** The parts that do not stand in the output, one behind the other. */
function inOrder(output: string, parts: readonly string[]): string[] {
  const text = tidy(output);
  let from = 0;
  return parts.map(tidy).filter((part) => {
    const at = text.indexOf(part, from);
    if (at !== -1) from = at + part.length;
    return at === -1;
  });
}

/**
 * Ids of entries that are made anew are any ids; how many tokens the demonstration takes depends on how long the name of
 * its folder is.
 */
function tidy(text: string): string {
  const lines = text.split("\n").flatMap((line) => (line.includes("┤") ? [] : [line.trimEnd()]));
  return lines
    .join("\n")
    .replaceAll(/^[0-9a-f]{8}(?=.*◀ here$)/gm, "xxxxxxxx")
    .replaceAll(/(?<=masked {2}).*(?= tokens)/g, "N → N")
    .trim();
}
