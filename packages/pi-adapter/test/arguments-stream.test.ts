import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolCallArgumentsStream } from "../src/models/arguments-stream.ts";

const partialArguments: [string, object][] = [
  ["", {}],
  ["{", {}],
  ['{"path', {}],
  ['{"path":', {}],
  ['{"path":"a', { path: "a" }],
  ['{"path":"a\\', { path: "a" }],
  ['{"path":"a\\u00', { path: "a" }],
  ['{"path":"a","deep":{"list":[1,2', { path: "a", deep: { list: [1, 2] } }],
  ['{"path":"a","deep":{"is":tr', { path: "a", deep: {} }],
  ['{"path":"a","de', { path: "a" }],
  ["[1", {}],
  ["no JSON", {}],
];

test("partial arguments are read as far as they are known", () =>
  everyRow(partialArguments)(([text, expected]) =>
    expect(new ToolCallArgumentsStream().append(text)).toEqual(expected),
  ));

test("any pieces add up to the whole arguments", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.array(fc.nat(20), { maxLength: 30 }),
      (value, cuts) => {
        const whole = JSON.parse(JSON.stringify(value)) as object;
        let rest = JSON.stringify(value);
        const stream = new ToolCallArgumentsStream();
        for (const length of cuts) {
          expect(stream.append(rest.slice(0, length))).toBeTypeOf("object");
          rest = rest.slice(length);
        }
        stream.append(rest);
        expect(stream.text).toBe(JSON.stringify(value));
        expect(stream.finish()).toEqual({ arguments: whole });
      },
    ),
  );
});

test("a whole text continues the pieces or replaces them", () => {
  const stream = new ToolCallArgumentsStream();
  stream.append('{"a":');
  expect(stream.replace('{"a":1}')).toEqual({ delta: "1}", arguments: { a: 1 } });
  expect(stream.replace('{"b":2}')).toEqual({ delta: undefined, arguments: { b: 2 } });
  expect(new ToolCallArgumentsStream().finish()).toEqual({ arguments: {} });
  stream.replace('{"b":');
  expect(stream.finish()).toMatchObject({ arguments: {}, argumentsError: expect.any(String) });
});
