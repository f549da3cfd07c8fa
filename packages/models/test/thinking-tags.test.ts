import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LeadingThinking, splitThinking, untaggedThinking } from "../src/thinking-tags.ts";

function read(pieces: readonly string[]): { thinking: string; text: string } {
  const reader = new LeadingThinking();
  const parts = [...pieces.flatMap((piece) => reader.take(piece)), ...reader.end()];
  const joined = (wanted: boolean) =>
    parts
      .filter(({ isThinking }) => isThinking === wanted)
      .map(({ text }) => text)
      .join("");
  return { thinking: joined(true), text: joined(false) };
}

const cases: readonly (readonly [answer: string, thinking: string, text: string])[] = [
  ["<think>hm</think>\n\nYes.", "hm", "Yes."],
  ["\n <THINK>\nhm\n</think>Yes.", "\nhm\n", "Yes."],
  ["<thinking>a < b</thinking><think>c</think> Yes.", "a < bc", "Yes."],
  ["[THINK]hm[/THINK]Yes.", "hm", "Yes."],
  ["◁think▷hm◁/think▷Yes.", "hm", "Yes."],
  ["<seed:think>hm</seed:think>Yes.", "hm", "Yes."],
  ["</think>\n\nYes.", "", "Yes."],
  ["<think>never closed", "never closed", ""],
  ["<think></think>Yes.", "", "Yes."],
  ["<thin ice", "", "<thin ice"],
  ["<", "", "<"],
  ["  Yes.", "", "  Yes."],
  ["The tag <think>x</think> is text.", "", "The tag <think>x</think> is text."],
  ["`<think>` opens", "", "`<think>` opens"],
];

test("separates thinking from text in pieces of any size", () =>
  everyRow(cases)(([answer, thinking, text]) => {
    expect(read([answer])).toEqual({ thinking, text });
    expect(read([...answer])).toEqual({ thinking, text });
    expect(splitThinking(answer)).toEqual({ thinking, text });
    fc.assert(
      fc.property(fc.array(fc.nat({ max: answer.length }), { maxLength: 6 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), answer.length];
        const pieces = places.slice(1).map((end, at) => answer.slice(places[at], end));
        expect(read(pieces)).toEqual({ thinking, text });
      }),
      { numRuns: 20 },
    );
  }));

test("thinking without an opening tag ends at a closing tag next to a line break", () => {
  expect(untaggedThinking("hm\n</think>\n\nYes.")).toEqual({ thinking: "hm", rest: "Yes." });
  expect(untaggedThinking("hm</think>\nYes.")).toEqual({ thinking: "hm", rest: "Yes." });
  expect(untaggedThinking("The tag </think> closes it.")).toBeUndefined();
  expect(untaggedThinking("Use `</think>`\nalways.")).toBeUndefined();
  expect(untaggedThinking("```\n</think>\n```")).toBeUndefined();
  expect(untaggedThinking("Write <think> and\n</think>\n")).toBeUndefined();
});
