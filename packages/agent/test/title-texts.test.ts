import { anyText } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanTitle, proseOf, titleOf, withoutSecrets } from "../src/listing/title-text.ts";
import { secrets } from "./secret-examples.ts";

const requests: [string, string, string | undefined][] = [
  ["a short request as it is", "Fix the failing test", "Fix the failing test"],
  ["without its full stop", "Fix the failing test in src/cart.ts.", "Fix the failing test in src/cart.ts"],
  ["a question", "Why is the build slow?", "Why is the build slow?"],
  ["the first sentence", "Add a login page. Use the old styles for it.", "Add a login page"],
  [
    "not a first sentence of one word",
    "Hm. Now the login page is broken",
    "Hm. Now the login page is broken",
  ],
  [
    "a dot inside a name ends nothing",
    "Rename a.b.c to d in index.ts now",
    "Rename a.b.c to d in index.ts now",
  ],
  ["a request with a greeting", "Hi there, fix the parser", "Hi there, fix the parser"],
  ["a line of words", "ok\nrename the module", "rename the module"],
  ["a heading", "## Fix the parser\n- now", "Fix the parser"],
  ["emphasised words", "- **Fix** the *slow* `parse()` call\n- more", "Fix the slow `parse()` call"],
  ["a link's text", "Read [the guide](https://example.org/a) first", "Read the guide first"],
  ["a list's first point", "- [x] done things\n- others", "[x] done things"],
  ["no code block", "```ts\nconst a = 1;\n```\nWhy does this fail?", "Why does this fail?"],
  ["no file that was put in", '<file name="a.ts">\nconst a = 1;\n</file>\nExplain a.ts', "Explain a.ts"],
  ["no reminder", "<system-reminder>\nBe nice.\n</system-reminder>\nSort the imports", "Sort the imports"],
  ["a dotfile", ".gitignore should list dist", ".gitignore should list dist"],
  ["terminal colours", "\u001b[31mred\u001b[0m text is wrong", "red text is wrong"],
  ["right-to-left tricks", "open \u202egpj.exe please now", "open gpj.exe please now"],
  ["German", "Bitte behebe den Fehler im Warenkorb.", "Bitte behebe den Fehler im Warenkorb"],
  ["Russian", "Привет! Исправь ошибку в корзине", "Привет! Исправь ошибку в корзине"],
  ["Chinese", "请修复购物车的总价。然后运行测试。", "请修复购物车的总价"],
  ["Japanese", "カートの合計を直してください。", "カートの合計を直してください"],
  ["Arabic", "أصلح سلة التسوق", "أصلح سلة التسوق"],
  ["nothing but a single word", "Hello!", undefined],
  ["nothing but a command", "/model", undefined],
  ["nothing but a number", "42", undefined],
  ["nothing but two letters", "a b", undefined],
  ["nothing", "  \n ", undefined],
  ["nothing but code", "```\nx = 1\n```", undefined],
];
test("titles a request by its first sentence", () => {
  expect(requests.map(([name, request]) => [name, request, titleOf(request)])).toEqual(requests);
});

const sentences = [
  "Fix __init__.py",
  "mcp__web__get-sum fails",
  "_private and __dunder__ names",
  "Rename max_input_tokens to max_tokens",
  "Lint src/**/*.ts and lib/**/*.js",
  "**/*.ts and **/*.js are not found",
  "*.ts files",
  "* is a wildcard",
  "Pass *args and **kwargs on",
  "f(*a, **b) and g(*c)",
  "Map<K, Array<T>> is slow",
  "<T> is unknown here",
  "Replace <b>old</b> by <strong>",
  "[x] does not toggle",
  "Sort arr[i](x)[j] by ~/.config/a~1",
  "#12 and #define FOO",
  "`make test` fails in `./a_b`",
  '"Cart" and "Order" differ',
  "C++ and C# and a--",
  "docs/2026-11-26-release-notes.md is wrong",
  "why is 2 * 3 * 4 not 24",
  "--dry-run is ignored",
  "Is a > b && c < d?",
];
test("keeps the characters of names, paths and code", () => {
  for (const request of sentences) {
    expect.soft(titleOf(request), request).toBe(request);
    expect.soft(cleanTitle(request), request).toBe(request);
    expect.soft(proseOf(request, 100), request).toBe(request);
  }
});

test("a title is the beginning of its request, whatever names and paths are in it", () => {
  const word = fc.constantFrom(
    ..."fix the __init__ __init__.py a_b_c _x_ mcp__web__get-sum **/*.ts src/**/a.js *.md *args **kw".split(
      " ",
    ),
    ..."<T> Array<T> <b>x</b> [x] [a][b] f(*a,*b) #12 ~/.rc ~~x C++ `a` `b_c` $HOME {a,b} a|b @x/y -n".split(
      " ",
    ),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const request = `Change ${words.join(" ")}`;
      const title = titleOf(request)!;
      expect(request.startsWith(title.replace(/…$/, ""))).toBe(true);
      expect(title.endsWith("…")).toBe(title !== request);
    }),
  );
});

test("a long request is cut at a word", () => {
  expect(
    titleOf(
      "Refactor the payment module so that it does not depend on the legacy database layer and the queue",
    ),
  ).toBe("Refactor the payment module so that it does not depend on the legacy database…");
  const title = titleOf("修复购物车".repeat(40))!;
  expect(title).toBe(`${"修复购物车".repeat(16).slice(0, 79)}…`);
});

const modelTitles: [string, string][] = [
  ["Fix the login", "Fix the login"],
  ['"Fix the login."', "Fix the login"],
  ["Title: Fix the login", "Fix the login"],
  ["**Fix the login**\n\nThis names it.", "Fix the login"],
  ["\n\n  # Fix the login\n", "Fix the login"],
  ["“修复登录”。", "修复登录"],
];
test("cleans a model's title of quotes and Markdown", () => {
  expect(modelTitles.map(([answer]) => [answer, cleanTitle(answer)])).toEqual(modelTitles);
});

const confidential: [string, string, string][] = [
  ...secrets.map((secret): [string, string, string] => ["by its form", `deploy with ${secret} now`, secret]),
  ["in quotes", `set key "${secrets[1]}" please`, secrets[1]!],
  ["by its name", "DB_PASSWORD=hunter2 fails to connect", "hunter2"],
  ["by its name in words", "log in: the password is hunter2", "hunter2"],
  ["in a header", "curl -H 'Authorization: Bearer abc.def' fails", "abc.def"],
  ["in a header of small letters", "curl -H 'authorization: bearer abc1.def' fails", "abc1.def"],
  ["in an address", "connect to postgres://bob:hunter2@db/shop", "hunter2"],
  ["in Chinese", "密码是hunter2 登录失败了", "hunter2"],
  [
    "as a key file that is cut off",
    "use -----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEabc",
    "MIIEabc",
  ],
  [
    "as a key file",
    "-----BEGIN PRIVATE KEY-----\nMIIEabc\n-----END PRIVATE KEY-----\nuse this key",
    "MIIEabc",
  ],
];
test("removes a secret", () => {
  for (const [name, text, secret] of confidential) {
    expect.soft(withoutSecrets(text), name).not.toContain(secret);
    expect.soft(titleOf(text) ?? "", name).not.toContain(secret.slice(0, 8));
  }
});

const harmless = [
  "src/components/checkout/OrderSummary.test.tsx",
  "the token count is wrong",
  "https://example.org/a/b",
  "resetPassword()",
  "fw_version_check",
  "the basic rules of a bearer token",
];
test("keeps words that only look like a secret", () => {
  for (const text of harmless) expect.soft(withoutSecrets(text), text).toBe(text);
});

test("any request gives one line of 80 characters at most, well-formed, without a full stop, the same each time", () => {
  const words = fc.array(
    fc.oneof(anyText({ maxLength: 30 }), fc.string({ maxLength: 30 }), fc.constantFrom(...secrets)),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(words, (parts) => {
      const request = parts.join(" ");
      const title = titleOf(request);
      expect(titleOf(request)).toBe(title);
      if (title === undefined) return;
      expect([...title].length).toBeLessThanOrEqual(80);
      expect(title).toBe(title.trim());
      expect(title).not.toMatch(/\p{Cc}|\u202e|[,;:.]$/u);
      expect(title.isWellFormed()).toBe(true);
      for (const secret of secrets) expect(title).not.toContain(secret);
    }),
  );
});
