import { expect, test } from "vitest";
import { codeBlocks } from "../src/index.ts";

test.for([
  ["no code, but `a span`", []],
  ["```ts\nconst a = 1;\n```", [["ts", "const a = 1;"]]],
  ["~~~~\n```\n~~~~", [["", "```"]]],
  ["```sh\nnever closed\n\n", [["sh", "never closed\n"]]],
  [
    "> ```py\n> a\n> ```\n\n- b\n\n  ```\n  c\n\n  ```",
    [
      ["py", "a"],
      ["", "c\n"],
    ],
  ],
  ["text\n\n    indented\n", [["", "indented"]]],
  ["```\n```", [["", ""]]],
] as const)("the code blocks of %j", ([text, blocks]) => {
  expect(codeBlocks(text).map(({ language, code }) => [language, code])).toEqual(blocks);
});
