import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const documents = globSync(["*.md", "docs/*.md", "examples/*.md", "packages/*/*.md", "extensions/*/*.md"], {
  cwd: root,
});
const examples = globSync("examples/[0-9]*.ts", { cwd: root }).sort();

interface Quotation {
  document: string;
  source: string;
  text: string;
}

/** Blocks behind a line like `<!-- from examples/01-session-tree.ts -->`. */
const quotations = documents.flatMap((document): Quotation[] =>
  [...read(document).matchAll(/^<!-- from (\S+) -->\n+```\w+\n([\s\S]*?)^```$/gm)].map(
    ([, source, text]) => ({
      document,
      source: source!,
      text: text!,
    }),
  ),
);

/** Without the white space that a line begins with: a quotation may stand further left. */
const flush = (text: string) => text.replaceAll(/^ +/gm, "");

test.each(quotations)("what $document quotes from $source stands there", ({ source, text }) => {
  expect(text.trim()).not.toBe("");
  expect(flush(read(source))).toContain(flush(text));
});

test("every mark of a quotation has its block", () => {
  const marks = documents.flatMap((document) => read(document).match(/^<!-- from /gm) ?? []);
  expect(marks).toHaveLength(quotations.length);
});

test.each(examples)("%s is quoted by a document, and named in the list of the examples", (example) => {
  expect(quotations.map(({ source }) => source)).toContain(example);
  expect(read("examples/README.md")).toContain(`(${example.replace("examples/", "")})`);
});

test.each(examples)("%s imports what anybody can install, by its public exports", (example) => {
  const names = [...read(example).matchAll(/^(?:import|\} from) .*?"(.*?)";$/gm)].map(([, name]) => name!);
  const isPublic =
    /^(?:node:[a-z_/]+|@bonsai-agent\/(?!testkit)[a-z-]+(?:\/[a-z-]+)?|zod|ai(?:\/test)?|openai(?:\/.+)?|@anthropic-ai\/sdk(?:\/.+)?)$/;
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !isPublic.test(name))).toEqual([]);
});
