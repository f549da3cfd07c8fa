import type { Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { emptyRecord, type SaidMessage, type UserWords } from "../../src/details.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { joinedWords, statementsIn, wordLines } from "../../src/record/statements.ts";
import { said } from "./run-messages.ts";

const user = (text: string, entryId?: string) => said("user", text, entryId);
const agent = (text: string) => said("assistant", [{ type: "text", text }]);
const wordsOf = (...messages: SourceMessage[]): UserWords =>
  joinedWords(emptyRecord.words, statementsIn(messages).said);
const texts = ({ said: all }: UserWords) => all.map(({ text }) => text);

test("lists the user's words in order, each with its number, without the agent's words", () => {
  const words = wordsOf(
    user("Use port 8080.", "e1"),
    agent("Done, port 8080."),
    user("No: take port 9090.\nAnd log it.", "e2"),
    agent("Changed."),
  );
  expect(wordLines(words).slice(1)).toEqual(["1. Use port 8080.", "2. No: take port 9090.\n  And log it."]);
  expect(wordLines(words)[0]).toMatch(/a later statement overrides an earlier one/i);
  expect(wordLines(emptyRecord.words)).toEqual([]);
});

test("numbers continue after earlier ones, and a message without words gets one too", () => {
  const spoken = statementsIn(
    [user("Mend the door of src/house.ts", "e8"), user("  "), user("Paint the roof", "e9")],
    { turns: 7 },
  ).said;
  expect(spoken.map(({ turn }) => turn)).toEqual([8, 10]);
});

test("shows a template or skill call as typed, and ignores a damaged line", () => {
  const typed = (content: string, line: unknown): SourceMessage => ({
    message: { role: "user", content, typed: line, timestamp: 0 } as Message,
  });
  expect(
    texts(
      wordsOf(
        typed("Review src with great care.", "/review src"),
        typed('<skill name="pdf" location="/s">\nDo it.\n</skill>\n\nRead a.pdf', undefined),
        typed("Mend the roof of the house", 5),
      ),
    ),
  ).toEqual(["/review src", "/skill:pdf Read a.pdf", "Mend the roof of the house"]);
});

test("a file sent with the text becomes one line", () => {
  const file = `<file path="src/a.ts">\n${"Prose in a file.\n".repeat(120)}</file>`;
  const sent = `Explain @src/a.ts to me.\n\n${file}`;
  expect(texts(wordsOf(user(sent)))).toEqual(["Explain @src/a.ts to me.\n[file src/a.ts, 120 lines]"]);
});

const LOG = Array.from({ length: 40 }, (_, at) => `2024-01-01T00:00:${10 + at} INFO request ${at} done`);

test("a pasted text becomes one line, and the words around it stay", () => {
  const [text = ""] = texts(
    wordsOf(user(`Why is this slow?\n\n${LOG.join("\n")}\n\nStart with the database.`)),
  );
  const lines = text.split("\n").filter((line) => line !== "");
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe("Why is this slow?");
  expect(lines[1]).toMatch(/^\[pasted: output, 40 lines/);
  expect(lines[2]).toBe("Start with the database.");
});

const command = (fields: object): SourceMessage => ({
  message: { role: "bashExecution", timestamp: 0, ...fields } as unknown as Message,
  entryId: "b",
});

const lines20 = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");

test("the user's command keeps its output, and the ends of a long one", () =>
  everyRow<[fields: object, expected: string[]]>([
    [{ command: "pnpm test", output: "a\nb", exitCode: 1 }, ["! pnpm test [exit code 1]\na\nb"]],
    [
      { command: "cat FREEZE", output: "frozen until 2026-06-02\n", exitCode: 0 },
      ["! cat FREEZE\nfrozen until 2026-06-02"],
    ],
    [{ command: "ls\nrm -rf x", output: "", exitCode: 0 }, ["! ls"]],
    [{ command: "x", output: "y".repeat(900), exitCode: 0 }, [`! x\n${"y".repeat(160)}`]],
    [
      { command: "log", output: lines20, exitCode: 0 },
      ["! log\nline 0\nline 1\nline 2\nline 3\n[12 more lines]\nline 16\nline 17\nline 18\nline 19"],
    ],
    [{ command: "cat .env", output: "s3cret", excludeFromContext: true }, []],
    [{}, []],
  ])(([fields, expected]) => {
    expect(texts(wordsOf(command(fields)))).toEqual(expected);
  }));

test("images are counted, alone and beside words", () => {
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const shown = wordsOf(
    said("user", [image]),
    said("user", [{ type: "text", text: "The button is cut off." }, image, image]),
  );
  expect(texts(shown)).toEqual(["[image]", "The button is cut off. [2 images]"]);
});

/** A question of the agent, a short answer of the user, and a request. */
const LANGUAGES: Record<string, [question: string, answer: string, request: string]> = {
  en: ["Shall I delete the old table?", "Yes", "Please never touch the legacy folder, another team owns it."],
  de: [
    "Soll ich die alte Tabelle löschen?",
    "Ja",
    "Den Altbestand bitte nie anfassen, den pflegt ein anderes Team.",
  ],
  ru: ["Удалить старую таблицу?", "Да", "Никогда не трогай старую папку, она чужая."],
  zh: ["要删除旧表吗？", "好", "请不要修改旧目录，那是别的团队的。"],
  ja: ["古いテーブルを消しますか？", "はい", "古いフォルダーには触らないでください、別のチームのものです。"],
  ar: ["هل أحذف الجدول القديم؟", "نعم", "لا تلمس المجلد القديم أبدا، فهو لفريق آخر."],
};
const languages = Object.entries(LANGUAGES);

test("a short answer carries the question that it answers, in any language", () =>
  everyRow(languages)(([, [question, answer]]) => {
    const [first, ...others] = wordsOf(agent(`It is unused.\n${question}`), user(answer, "e1")).said;
    expect(others).toEqual([]);
    expect(first).toMatchObject({ text: answer, answers: question });
    expect(wordLines(wordsOf(agent(question), user(answer, "e1"))).at(-1)).toBe(
      `1. (asked: ${question}) ${answer}`,
    );
  }));

test("a repeated request stays once, at its last place, in any language", () =>
  everyRow(languages)(([, words]) => {
    const [question, , request] = words;
    const spoken = wordsOf(
      user(request, "e1"),
      user(question, "e2"),
      user(request.replace(/[.。]$/u, " !"), "e3"),
    );
    expect(spoken.said.map(({ entryId }) => entryId)).toEqual(["e2", "e3"]);
  }));

test("keeps the same answer once for each different question, and once for a repeated question", () => {
  const ask = (question: string) => [agent(question), user("yes")];
  const different = wordsOf(...ask("Drop the table?"), ...ask("Rename the branch?"));
  expect(different.said.map(({ answers }) => answers)).toEqual(["Drop the table?", "Rename the branch?"]);
  const routine = wordsOf(...ask("Run step 1?"), ...ask("Run step 2?"), ...ask("Run step 3?"));
  expect(routine.said.length).toBeLessThan(3);
});

test("law: keeps the original order, and two spans give the same result as one", () => {
  const text = fc.oneof(
    fc.constantFrom(...languages.flatMap(([, words]) => [...words])),
    fc.string({ unit: "grapheme", maxLength: 30 }),
  );
  const law = fc.property(fc.array(text, { maxLength: 20 }), fc.nat(20), (all, cut) => {
    const messages = all.map((each, at) => user(each, `e${at}`));
    const whole = wordsOf(...messages);
    const numbers = whole.said.map(({ turn }: SaidMessage) => turn);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    const before = wordsOf(...messages.slice(0, cut));
    const turns = Math.min(cut, messages.length);
    expect(joinedWords(before, statementsIn(messages.slice(cut), { turns }).said).said).toEqual(whole.said);
  });
  fc.assert(law);
});
