import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { withoutPastes } from "../../src/record/pasted.ts";
import { pastes } from "./pastes.ts";

const before = "Das hier bekomme ich, seit ich src/a.ts umbenannt habe:";
const behind = "никогда не трогай `config.yml`, ладно?";

/** The lines of a text other than the two sentences and the lines that replace a pasted block. */
function rest(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => ![before, behind, ""].includes(line.trim()) && !/^\[(?:pasted|file)/.test(line));
}

test("a paste between two sentences becomes one line", () =>
  everyRow(Object.entries(pastes))(([, paste]) => {
    for (const gap of ["\n\n", "\n"]) {
      const words = withoutPastes(`${before}${gap}${paste}${gap}${behind}`);
      expect(words.split("\n")[0]).toBe(before);
      expect(words.split("\n").at(-1)).toBe(behind);
      expect(rest(words).length).toBeLessThanOrEqual(Math.max(2, paste.split("\n").length / 3));
      expect(words.length).toBeLessThan(before.length + behind.length + paste.length);
    }
  }));

test("a paste is marked with its kind, size and most telling line", () =>
  everyRow([
    [
      "Java trace",
      pastes["a Java trace"]!,
      '[pasted: output, 7 lines: Exception in thread "main" java.lang.NullPointerException: Cannot invoke "Strin…]',
    ],
    ["fence", `\`\`\`ts\n${"const a = 1;\n".repeat(5)}\`\`\``, "[pasted: ts, 5 lines: const a = 1;]"],
    [
      "file in a tag",
      `<file path="src/a.ts">\n${"export {};\n".repeat(120)}</file>`,
      "[pasted: file, 120 lines: src/a.ts]",
    ],
    ["quote", pastes["a quote"]!, "[pasted: quote, 4 lines: > Can you look at it before Friday?]"],
    ["diff", pastes["a diff"]!, /^\[pasted: diff, \d+ lines: diff --git/],
    ["JSON", pastes["a package.json"]!, /^\[pasted: code, /],
    [
      "log with an error",
      `${"10:00:00 INFO ok\n".repeat(5)}Error: no disk`,
      "[pasted: output, 6 lines: Error: no disk]",
    ],
    ["line of base64", "iVBORw0KGgoAAAANSUhEUgAA".repeat(80), "[pasted: data, 1,920 characters]"],
  ])(([, paste, line]) => {
    expect(withoutPastes(paste)).toMatch(line);
  }));

const lists = [
  "node 18,\nnode 20,\nnode 22,\nnode 24,\nnode 26,\nbun 1.2",
  "src/a.ts:12 wrong name here\nsrc/b.ts:44 this should be async\nsrc/c.ts:3 drop that import\nsrc/d.ts:9 never throw here\nsrc/e.ts:10 typo",
  "Port 8080;\nTimeout 30s;\nkein Docker;\nHost 0.0.0.0;\nkein TLS;",
  "- rename fooBar to barFoo\n- delete src/a.ts\n- никогда не трогай config.yml\n- `npm test` must pass\n- use OAuth2\n- no any!\n- README.md\n- src/x.ts → src/y.ts\n- fix #123\n- v2.0.0 taggen\n- 添加测试\n- foo()\n- bar()\n- baz()",
  "1. Erstens: die Farbe ist #ff0000;\n2. der Port ist 8080;\n3. kein Docker;\n4. nie pushen;\n5. immer `pnpm check`;\n6. Datei src/a.ts;\n7. Timeout 30s;",
  "Farbe: rot\nGröße: 12px\nFont: Arial\nRand: keiner\nName: Login\nPort: 8080\nDB: postgres",
  "green diff is #b5bd68\nred diff #283228\naccent #8abeb7\nerror cc6666\nuser bg 343541\ntool error bg 3c2828",
  "请把 src/a.ts 里的函数改成异步的，\n不要动 config.yml。\n端口用8080。\n只用中文注释",
  "このファイルを修正してください。\nテストは消さないで。\nポートは8080です。",
  "กรุณาแก้ไขไฟล์ src/a.ts\nอย่าลบการทดสอบ\nพอร์ต 8080",
  "कृपया फ़ाइल src/a.ts को ठीक करें।\nटेस्ट मत हटाना।",
  "من فضلك أصلح الملف src/a.ts\nلا تحذف الاختبارات أبدا\nاستخدم المنفذ 8080",
  "תקן בבקשה את הקובץ src/a.ts\nאל תמחק את הבדיקות",
  "한국어로 주석을 달아 주세요.\nsrc/a.ts는 건드리지 마세요.\n포트는 8080입니다.",
  "run `git push --force` never!\nuse foo.bar.baz(1, 2) instead of qux()\nsee https://example.com/a/b?c=d#e",
  "# Goal\nmake it fast\n\n## Constraints\n- no deps\n- Node >= 22\n- < 200 ms\n\n## Steps\n1) parse\n2) plan\n3) emit",
  "<task>\nBuild the login page with these rules.\nNo passwords in logs.\nNever store sessions in cookies, please.\n</task>",
  "add these files:\nsrc/a.ts\nsrc/b.ts\nsrc/c.ts",
  "wichtig:\n* kein `any`\n* keine neuen deps\n  * außer Tests\n    * und Fixtures",
  "if the name is empty, return null\nif the port is taken, try the next one\nelse fail with an error",
  "use exactly this header: ```X-Foo: bar```\nand this:\n```\nX-Bar: 1\n```\nthanks",
  "pnpm exec vitest run packages/x/test/y.test.ts --maxWorkers=1",
  "> 100 ms is too slow",
  "CREATE a login page\nADD tests\nRUN the linter\nUPDATE the docs\nDROP node 18\nAND never push\nON every commit",
  "use OAuth2.\nuse pnpm.\nreturn null.\nimport lazily.\nexport nothing.\nasync only.",
  "send mail:\nFrom: a@b.de\nTo: c@d.de\nSubject: Hello",
  "+ 3 more tests\n+ 2 docs\n+ 1 bench\n+ 5 examples\n+ 4 more",
  "And again here.  With two more.  After each.\nAnd again.  With two more.  After each.\nAnd so on.  With two.  After each.\nAnd on.  With two.  After each.",
  "　　这个功能需要支持中文。\n　　端口必须是8080。\n　　不要推送到主分支。\n　　谢谢。",
  "一、登录\n二、注销\n三、导出CSV",
  "1- تسجيل\n2- خروج\n3- API v2\n4- src/a.ts\n5- 8080",
  "GET /users returns all\nPOST /users creates one\nDELETE /users/:id deletes\nPUT /users/:id updates",
  '"Save" → "Speichern"\n"Load" → "Laden"\n"Exit" → "Ende"\n"New" → "Neu"\n"Cut" → "Aus"',
  "10:00 standup with the team\n11:00 fix the build\n12:00 lunch\n13:00 deploy",
  'npm i\nnpm run build\nnpm test\ngit commit -m "x"\ngit push',
];

test("a person's list stays, alone and among pastes", () =>
  everyRow(lists)((list) => {
    expect(withoutPastes(list)).toBe(list);
    const among = withoutPastes([pastes["a Java trace"], list, pastes["a .env"], list].join("\n\n"));
    expect(among.split(list)).toHaveLength(3);
    expect(among.split("\n[pasted: ").length + Number(among.startsWith("[pasted: "))).toBe(3);
  }));

test("words in the line of a fence's mark stay, and the last paragraph behind one that nobody closed", () => {
  const code = "const a = 1;\n".repeat(6);
  expect(withoutPastes(`see this: \`\`\`\n${code}\`\`\` and mend it`)).toMatch(
    /^see this:\n\[pasted: [^\n]*\nand mend it$/,
  );
  expect(withoutPastes(`\`\`\`\n${code}\nPlease mend that for me.`)).toMatch(
    /^\[pasted: [^\n]*\n\nPlease mend that for me\.$/,
  );
});

test("a long line keeps the words at its ends", () => {
  const json = JSON.stringify(Array.from({ length: 200 }, (_, id) => ({ id })));
  expect(withoutPastes(`Please mend ${json} and tell me why.`)).toMatch(
    /^Please mend \[pasted: data, [\d,]+ characters\] and tell me why\.$/,
  );
});

test("head and tail of a document stay", () =>
  everyRow([
    ["English", "This sentence stands in a long document that nobody typed. "],
    ["Chinese", "这个文件很长，没有人会自己打出来。"],
    ["Arabic", "هذه وثيقة طويلة لم يكتبها أحد. "],
  ])(([, sentence]) => {
    const words = withoutPastes(`First of all.\n\n${sentence.repeat(800)}\n\nWhat do you think?`);
    expect(words).toMatch(
      /^First of all\.\n[\s\S]*\n\[pasted: text, [^\n]*\]\n[\s\S]*\nWhat do you think\?$/,
    );
    expect(words.length).toBeLessThan(4_500);
  }));

test("a short quote stays", () => {
  const quote = "> Can you look at it before Friday?\n";
  expect(withoutPastes(`${quote}${quote}yes`)).toBe(`${quote}${quote}yes`);
});

test("a list of what to leave out stays behind the hunk that it follows", () => {
  const wishes = "- remove the cache\n- keep the lock";
  expect(withoutPastes(`${pastes["a diff"]}\n${wishes}`).endsWith(`\n${wishes}`)).toBe(true);
});
