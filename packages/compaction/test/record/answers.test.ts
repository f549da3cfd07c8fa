import { estimateTokens } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { sentencesOf } from "../../src/record/sentence.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { clippedWords, joinedWords, statementsIn, wordLines } from "../../src/record/statements.ts";
import { said } from "./run-messages.ts";

const user = (text: string, entryId?: string) => said("user", text, entryId);
const agent = (text: string) => said("assistant", [{ type: "text", text }]);
const wordsOf = (...messages: SourceMessage[]) => joinedWords(emptyRecord.words, statementsIn(messages).said);
const answered = (text: string, answer: string) =>
  wordLines(wordsOf(agent(text), user(answer, "e1"), agent("Good."))).at(-1);

describe("a short answer carries the question, also before a list of choices", () => {
  test("a short answer carries its question, in any language", () =>
    everyRow<[string, string, string, string]>([
      [
        "numbered, before the question",
        "Ich sehe zwei Wege:\n\n1. Redis\n2. Memcached\n\nWelchen nehmen wir?",
        "den zweiten",
        "1. (asked: Welchen nehmen wir?) den zweiten",
      ],
      [
        "lettered, behind the question",
        "Quale preferisci?\na) Redis\nb) Memcached\nc) nessuno",
        "la b",
        "1. (asked: Quale preferisci?) la b",
      ],
      [
        "on one line",
        "We can (A) keep it flat or (B) split it.\nWhich do you prefer?",
        "B",
        "1. (asked: Which do you prefer?) B",
      ],
      [
        "a report with a list, and a question behind more text",
        "1. parsed\n2. tested\n\nAll is well.\nSkal jeg fortsette?",
        "ja",
        "1. (asked: Skal jeg fortsette?) ja",
      ],
      ["a number", "Which port should it use?", "8080", "1. (asked: Which port should it use?) 8080"],
    ])(([, question, answer, line]) => {
      expect(answered(question, answer)).toBe(line);
    }));
});

test("a question belongs to its answer if the answer is short", () =>
  everyRow<[string, string, boolean]>([
    ["five words", "the second one of those", true],
    ["six words", "the second one of those two", false],
    ["ten Chinese characters", "请用第二个方案来部署", true],
    ["eleven Chinese characters", "请用第二个方案来部署吧", false],
    ["two words and six characters", "请用 Redis 第二个 now", true],
    ["four words and six characters", "please 请用 Redis 第二个 right now", false],
    ["a quotation with brackets", "the [second] one", false],
  ])(([, answer, isShort]) => {
    expect(answered("Which cache should it use?", answer)?.includes("Which cache")).toBe(isShort);
  }));

test("the questions beside the answers count for what the words may take", () => {
  const letters = "abcdefghijklmnopqrst";
  const rounds = [...letters].flatMap((letter, at) => [
    agent(`Shall ${`${letter}${letters[(at * 7) % 20]}ndex `.repeat(20)}hold?`),
    user(`yes ${letter}${letters[(at * 3) % 20]}`, `e${at}`),
  ]);
  const maxTokens = 300;
  const clipped = clippedWords(wordsOf(...rounds), { maxTokens });
  const lines = wordLines(clipped).slice(2);
  expect(lines.length).toBeGreaterThan(1);
  expect(estimateTokens(lines.join("\n"))).toBeLessThanOrEqual(maxTokens);
});

test("the point of an ordinal ends no sentence", () =>
  everyRow([
    ["Nézd meg a 185. modult. Aztán szólj.", ["Nézd meg a 185. modult.", "Aztán szólj."]],
    ["Tarkista kohdat 2. ja 3. nyt!", ["Tarkista kohdat 2. ja 3. nyt!"]],
    ["Take port 8080. Then log it.", ["Take port 8080.", "Then log it."]],
  ])(([text, sentences]) => {
    expect(sentencesOf(text)).toEqual(sentences);
  }));
