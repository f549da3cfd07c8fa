import { everyRow } from "@bonsai-agent/testkit";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectHarmless, header, places, sessionWith, TAG } from "./export-readers.ts";

const piece = fc.constantFrom(
  ..."` `` ``` ```` ~~~ ~~~~ ~~ \\ \\` < > <b> <b </b> <!-- --> <?x ?> <![CDATA[ ]]> <script> <a href='".split(
    " ",
  ),
  ..."[ ] ( ) ]( ]: ![ [a]: [a](javascript:1) [a](http://x) javascript: &#106; &colon; &lt; data: http://x".split(
    " ",
  ),
  ..."# ## ### - * + 1. 1) > | --- === *** |--|--| a b `a` `<i>` $$ [^1]: :::: ``` ``` ~~~".split(" "),
  ...[
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\n\n",
    " ",
    " ",
    "  ",
    "    ",
    "\t",
    "\r\n",
    "\r",
    "\n- ",
    "\n  ",
    "\n    ",
    "\n> ",
  ],
  ...[
    "\0",
    "\u2028",
    "\ufeff",
    "\u0085",
    "\f",
    '"',
    "'",
    "\n```\n",
    "\n~~~\n",
    "\n   ```\n",
    `\n${TAG}`,
    TAG,
    "\ud800",
  ],
);

/** Quadratic time takes minutes for this size. */
const CHARS = process.env.LAW_RUNS ? 250_000 : 64_000;

describe("an export is only text for every reader", () => {
  test("a long text of one repeated unit takes linear time", () =>
    everyRow([
      ...[
        "> ",
        ">",
        "- ",
        "[",
        "![",
        "](",
        "`a",
        "``a`",
        "\\",
        "\\`",
        "<",
        "<https://",
        "<a ",
        "&",
        "*",
        "~~~",
        "www.",
      ],
      ...[
        "a\n===\n",
        "# a\n",
        "- a\n",
        "```\n",
        "- ```\n",
        "    <b>\n\n",
        "[a]: b\n",
        "1. ",
        "=\n",
        "\t",
        "|",
        "a | <b>\n",
      ],
      ...["`<b>` ", "`<b>` [a](", "> ```\n> <b>\n", "password:", "![](", "](javascript:", "](        "],
      Array.from({ length: 300 }, (_, at) => `${"`".repeat(at + 1)}<b>`).join(" "),
    ])((unit) => {
      const value = unit.repeat(Math.ceil(CHARS / unit.length));
      const [first] = sessionWith(value, ["a user's text"]).entries();
      const session = { header, leafId: null, entries: () => [first!], path: () => [first!] };
      expect(exportMarkdown(session)).toContain("## User");
    }));

  test("harmless Markdown stays unchanged", () => {
    const text = [
      "A list, where a < b & c > d, `x <b>` and **bold_text**:",
      '- [ ] one\n- two `[a](b)`\n\n  ```html\n  <b>x</b>\n  ```\n\n1. three, see [docs](https://x.org/a_b?c=d#e "t")',
      "| a | b |\n|---|---|\n| `c` | <https://x.org> |",
      "```ts\nconst a: Array<string> = [];\n```\n\n~~~~\n<!-- kept -->\n~~~~",
      "> quoted *text*\n\n    indented code\n\n---",
      "[relative](../a/b.md) and me@x.org, C:\\path, it`s",
    ].join("\n\n");
    const exported = exportMarkdown(sessionWith(text, ["a user's text"]));
    expect(exported).toContain(text.replace("~~~~\n<!-- kept -->\n~~~~", "```\n<!-- kept -->\n```"));
    expect(exportMarkdown(sessionWith("``` explain <b>", ["a user's text"]))).toContain("``` explain <b>\n");
  });

  test("law: any combination of pieces, in any place, is only text", () => {
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 16 }).map((pieces) => pieces.join("")),
        fc.constantFrom(...Object.keys(places)),
        (value, name) => expectHarmless(value, [name]),
      ),
    );
  });
});
