import { estimateTokens } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { selectedTexts } from "../../src/record/selection.ts";
import { contentWords, sentencesOf, termsIn } from "../../src/record/sentence.ts";

const LINE_TOKENS = 9;
const clip = (texts: readonly string[], maxTokens: number, focus?: string) =>
  selectedTexts(texts, { maxTokens, tokensBeside: () => LINE_TOKENS, needsLater: true, focus });
const sizeOf = (texts: readonly (string | undefined)[]) =>
  texts.reduce((sum, text) => sum + (text === undefined ? 0 : estimateTokens(text) + LINE_TOKENS), 0);

const chatter = Array.from(
  { length: 60 },
  (_, at) => `We talked about the weather and the garden for a while on day ${"abcdefgh"[at % 8]}.`,
);

const SENTENCES = [
  "Use port 8080 for the gateway.",
  "Never touch src/legacy/index.ts.",
  "The blue theme looks nice.",
  "Bitte nimm immer Schrägstriche statt Backslashes.",
  "Die Tabelle orders_v2 bleibt, wie sie ist!",
  "не трогай src/main.rs",
  "Порт теперь 9090.",
  "请不要修改 config.yml，谢谢。",
  "なぜ失敗しますか？",
  "لا تلمس الملف config.yml",
  "Look at it again.",
  "Look at this again.",
  "Why does parseHeader fail?",
  "x".repeat(2_000),
  "abc ".repeat(900),
  "日本語".repeat(400),
];
const text = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...SENTENCES) },
      fc.string({ unit: "grapheme", maxLength: 40 }),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((sentences) => sentences.join(" "));
const texts = fc.array(text, { maxLength: 25 });
const budget = fc.integer({ min: 0, max: 900 });

test("law: texts that fit stay unchanged", () => {
  const law = fc.property(texts, (all) => {
    expect(clip(all, sizeOf(all))).toEqual(all);
  });
  fc.assert(law);
});

/** Marks alone are no sentence: what stood on both sides of them reads on. */
function wordsOf(said: string): string {
  return said.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
}

test("law: the result never exceeds maxTokens and has only original sentences", () => {
  const law = fc.property(texts, budget, (all, maxTokens) => {
    const kept = clip(all, maxTokens);
    expect(kept).toHaveLength(all.length);
    expect(sizeOf(kept)).toBeLessThanOrEqual(maxTokens);
    kept.forEach((each, at) => {
      const said = wordsOf(all[at]!);
      for (const sentence of sentencesOf(each?.replaceAll(/(?:^|\s)…(?=\s|$)/g, "\n") ?? ""))
        expect(said, sentence).toContain(wordsOf(sentence.slice(0, 60)));
    });
  });
  fc.assert(law);
});

/** Two statements on one subject that nothing else speaks of, among others. */
const withPair = fc
  .tuple(
    texts,
    fc.nat(24),
    fc.nat(24),
    fc.constantFrom("zebra-port", "orders_v9", "Zebrastreifen", "斑马线路口", "зебраход"),
  )
  .map(([others, a, b, subject]) => {
    const all = [...others];
    all.splice(
      Math.min(a, all.length),
      0,
      `Never change ${subject}, it is important and must stay so in file src/z.ts`,
    );
    const first = Math.min(a, others.length);
    const second = first + 1 + (b % (all.length - first));
    all.splice(second, 0, `ok ${subject} may go`);
    return { all, first, second };
  });

test("Invariant: of two statements on the same subject, the later one is never left out before the earlier one", () => {
  const law = fc.property(withPair, budget, ({ all, first, second }, maxTokens) => {
    const kept = clip(all, maxTokens);
    const isLeft = (at: number, part: string) => kept[at]?.includes(part) ?? false;
    if (isLeft(first, "Never change")) expect(isLeft(second, "may go")).toBe(true);
  });
  fc.assert(law);
});

test("law: never keeps the earlier of two statements without the later one if only they share a word", () => {
  const law = fc.property(texts, budget, (all, maxTokens) => {
    const kept = clip(all, maxTokens);
    const statements = all.flatMap((each, of) => sentencesOf(each).map((sentence) => ({ of, sentence })));
    const subjects = statements.map(
      ({ sentence }) => new Set([...contentWords(sentence), ...termsIn(sentence)]),
    );
    const isKept = ({ of, sentence }: (typeof statements)[number]) => kept[of]?.includes(sentence) ?? false;
    statements.forEach((earlier, at) => {
      if (!isKept(earlier)) return;
      for (const word of subjects[at]!) {
        const users = statements.filter((_, each) => subjects[each]!.has(word));
        const later = users.at(-1)!;
        if (users.length === 2 && later.of !== earlier.of)
          expect(isKept(later), `${earlier.sentence} / ${later.sentence}`).toBe(true);
      }
    });
  });
  fc.assert(law);
});

test("prohibitions, decisions and names outlive chatter, however old they are", () =>
  everyRow([
    ["a prohibition", "Never push to main."],
    ["a prohibition in German", "Niemals direkt veröffentlichen."],
    ["a prohibition in Russian", "Никогда не публикуй сам."],
    ["a prohibition in Chinese", "不要直接发布。"],
    ["a prohibition in Japanese", "直接公開しないでください。"],
    ["a prohibition in Arabic", "لا تنشر بنفسك أبدا."],
    ["an identifier", "It is parseHeader that matters."],
    ["a path", "The file is src/gate/way.ts."],
    ["a value", "Take port 8443."],
  ])(([, statement]) => {
    const kept = clip([chatter[0]!, statement, ...chatter], 200);
    expect(kept[1]).toBe(statement);
    expect(kept.filter((each) => each === undefined).length).toBeGreaterThan(40);
  }));

test("drops repeated statements before unique ones", () => {
  const routine = Array.from(
    { length: 40 },
    () => "Please look at that file once more and tell me about it.",
  );
  const once = "We agreed on blue buttons in the shop.";
  const kept = clip([...routine.slice(0, 20), once, ...routine.slice(20)], 150);
  expect(kept[20]).toBe(once);
  expect(kept.filter((each) => each !== undefined).length).toBeLessThan(12);
});

test("keeps the statement with more information for its size", () => {
  const [long, short] = [
    "The cause is that parseHeader in src/http.ts reads 512 bytes although the limit is 4096.",
    "I will look at it now and then come back to you with more about it.",
  ];
  expect(clip([long, short], 40)).toEqual([long, undefined]);
});

test("the newest of equally specific statements stays, and a gap is marked", () => {
  const all = Array.from(
    { length: 26 },
    (_, at) => `The colour of wall ${"abcdefghijklmnopqrstuvwxyz"[at]} is fine by me, whatever others think.`,
  );
  const kept = clip(all, 200);
  expect(kept.at(-1)).toBe(all.at(-1));
  const [long] = clip(
    [`${chatter.slice(0, 30).join(" ")} Never use tabs. ${chatter.slice(30).join(" ")}`],
    120,
  );
  expect(long).toContain("Never use tabs.");
  expect(long).toContain("…");
});

test("statements that the focus names are dropped last", () => {
  const all = Array.from(
    { length: 40 },
    (_, at) => `Never restart service${at}x before its queue is drained.`,
  );
  expect(clip(all, 150)[3]).toBeUndefined();
  expect(clip(all, 150, "the work on service3x")[3]).toBe(all[3]);
});
