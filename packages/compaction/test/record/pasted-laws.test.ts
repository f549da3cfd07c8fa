import { adversarialTexts, anyText } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutPastes } from "../../src/record/pasted.ts";
import { pastes } from "./pastes.ts";

const sentence = fc.constantFrom(
  "Bitte benenne src/very/long/path/to/file/index.ts um.",
  "Please never touch `config.yml`, and use port 8080.",
  "не трогай src/main.rs!",
  "kullanıcı adı boş olmamalı (src/user.ts)",
  "不要修改 package.json，谢谢",
  "なぜ失敗しますか？",
  "لا تلمس الملف config.yml",
  "אל תיגע בקובץ",
  "กรุณาอย่าแก้ไข",
  "कृपया config.yml मत बदलो",
  "Không được sửa tệp này",
  "never!",
  "- kein Docker\n- nur `pnpm`\n- Port 8080",
  "1. add tests\n2. fix foo()\n3. v2.1.0",
  "use Foo::bar() not baz",
  "npm run build && npm test",
  "error: it crashes when I click",
);
const paste = fc.constantFrom(...Object.values(pastes));
const gap = fc.constantFrom("\n\n", "\n");

test("text around pasted blocks stays, in order", () => {
  fc.assert(
    fc.property(sentence, fc.array(fc.tuple(paste, gap, sentence), { maxLength: 4 }), (first, others) => {
      const words = withoutPastes(
        first + others.map(([block, lines, said]) => lines + block + lines + said).join(""),
      );
      let from = 0;
      for (const said of [first, ...others.map(([, , each]) => each)]) {
        const at = `\n${words}\n`.indexOf(`\n${said}\n`, from);
        expect(at, said).toBeGreaterThanOrEqual(0);
        from = at + said.length;
      }
    }),
  );
});

const fragment = fc.oneof(
  sentence,
  paste,
  paste.map((block) => block.slice(0, block.length / 2)),
  anyText({ maxLength: 40 }),
  fc.constantFrom(
    "```",
    "~~~",
    '<file path="a">',
    "</file>",
    "<log>",
    "@@ -1,9 +1,9 @@",
    "> a",
    "",
    "x".repeat(2_000),
  ),
  fc.nat(400).map((count) => "A sentence that is said often. ".repeat(count)),
);
const text = fc
  .array(fc.tuple(fragment, fc.constantFrom("\n", "\n\n", "\r\n", " ")), { maxLength: 8 })
  .map((parts) => parts.map((part) => part.join("")).join(""));

test("law: what is left is longer by no more than the lines that stand for blocks", () => {
  fc.assert(
    fc.property(text, (said) => {
      const words = withoutPastes(said);
      const marks = words.match(/\[(?:pasted|file)/g)?.length ?? 0;
      expect(words.length).toBeLessThanOrEqual(said.length + 210 * marks);
    }),
  );
});

test("any string has words", () => {
  fc.assert(fc.property(anyText({ maxLength: 2_000 }), (said) => typeof withoutPastes(said) === "string"));
});

test("law: the words of a long text are bounded", () => {
  fc.assert(
    fc.property(fc.constantFrom(...adversarialTexts()), ([, said]) => {
      expect(withoutPastes(said).length).toBeLessThan(20_000);
    }),
  );
});
