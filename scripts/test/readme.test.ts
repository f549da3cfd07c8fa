import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CliRun, runCli } from "../../packages/cli/test/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Commands on the example session that need no model and end by themselves. */
const RUNNABLE = /^bonsai (?:session|compact|search) (?=.*session\.jsonl)(?!.*--model)/;
let folder: string;

// A reader's folder: the example session, the example extension, no key.
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-readme-"));
  copyFileSync(join(root, "examples/workday.jsonl"), join(folder, "session.jsonl"));
  copyFileSync(join(root, "examples/10-my-summary.ts"), join(folder, "my-summary.ts"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs a line of a document in this process. */
function bonsai(line: string): Promise<CliRun> {
  const [command, ...args] = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!,
  );
  expect(command).toBe("bonsai");
  return runCli(args, { cwd: folder, env: { HOME: folder, COLUMNS: "90" }, stdin: "" });
}

interface Shown {
  line: string;
  /** The output in the document; undefined if the document shows none. */
  output: string | undefined;
}

/** The runnable commands of a document, in order. */
function commandsIn(document: string): Shown[] {
  const text = readFileSync(join(root, document), "utf8");
  return [...text.matchAll(/^```(console|sh)\n([\s\S]*?)^```$/gm)].flatMap(([, kind, block = ""]): Shown[] =>
    kind === "console"
      ? block
          .split(/^\$ /m)
          .slice(1)
          .map((part) => {
            const [line = "", ...output] = part.trimEnd().split("\n");
            return { line, output: output.join("\n") };
          })
      : block.split("\n").flatMap((each) => {
          const line = each.replace(/ +#.*$/, "");
          return RUNNABLE.test(line) ? [{ line, output: undefined }] : [];
        }),
  );
}

test.each([
  ["README.md", 2],
  ["docs/compaction.md", 4],
  ["docs/sessions.md", 15],
])("every command of %s works and prints the shown output", async (document, atLeast) => {
  const commands = commandsIn(document);
  expect(commands.length).toBeGreaterThanOrEqual(atLeast);
  for (const { line, output } of commands) {
    const { code, stdout, stderr } = await bonsai(line);
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    if (output !== undefined) expect(missingParts(stdout, output.split(/^…$/m))).toEqual([]);
  }
});

/** The parts that are not in the output, in this order. */
function missingParts(output: string, parts: readonly string[]): string[] {
  const text = trimLines(output);
  let from = 0;
  return parts.map(trimLines).filter((part) => {
    const at = text.indexOf(part, from);
    if (at !== -1) from = at + part.length;
    return at === -1;
  });
}

function trimLines(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}
