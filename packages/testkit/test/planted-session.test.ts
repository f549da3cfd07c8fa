import { type Message, messageText } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type PlantedSession, plantedLanguages, plantedSession } from "../src/index.ts";

const anySeed = fc.integer({ min: 0, max: 100_000 });

describe.each(plantedLanguages)("a planted session in %s", (language) => {
  const sessions = anySeed.map((seed) => plantedSession({ seed, language, stretches: 4 }));

  it("has each plant's words in the named message, and later words that end a plant without repeating it", () => {
    fc.assert(
      fc.property(sessions, ({ messages, plants }) => {
        for (const { key, at } of plants) expect(visible(messages, at)).toContain(key);
        expect(new Set(plants.map(({ key }) => key)).size).toBe(plants.length);
        for (const { key, at, ended } of plants) {
          if (ended === undefined) continue;
          expect(ended.at).toBeGreaterThan(at);
          const said = visible(messages, ended.at);
          expect(ended.mends.filter((mend) => said.includes(mend))).not.toEqual([]);
          if (ended.how === "withdrawn" || ended.how === "changed") expect(said).not.toContain(key);
        }
      }),
    );
  });

  it("has every kind of plant and of end, in eight stretches", () => {
    const { plants, stretches } = plantedSession({ seed: 1, language });
    expect(stretches).toHaveLength(8);
    expect([...new Set(plants.map(({ kind }) => kind))].sort()).toEqual([
      "constraint",
      "decision",
      "fact",
      "irreversible",
      "openError",
      "preference",
      "todo",
    ]);
    expect([...new Set(plants.flatMap(({ ended }) => ended?.how ?? []))].sort()).toEqual([
      "changed",
      "finished",
      "fixed",
      "withdrawn",
    ]);
  });
});

test("the same seed gives the same session, another one another", () => {
  const text = (seed: number): string =>
    JSON.stringify(plantedSession({ seed, language: "ja", stretches: 1 }));
  expect(text(7)).toBe(text(7));
  expect(text(8)).not.toBe(text(7));
});

/** With the arguments of the call that a result belongs to, where quotes are as they are in text. */
function visible(messages: PlantedSession["messages"], at: number): string {
  return [messages[at - 1], messages[at]].map(textOf).join("\n");
}

function textOf(message: Message | undefined): string {
  if (message?.role !== "assistant") return message === undefined ? "" : messageText(message);
  const calls = message.content.filter((block) => block.type === "toolCall");
  const parts = calls.flatMap(({ arguments: given }) => [JSON.stringify(given), String(given.command ?? "")]);
  return [messageText(message), ...parts].join("\n");
}
