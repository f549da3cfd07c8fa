import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { readResult } from "../src/result.ts";

const text = (text: string) => ({ type: "text", text });
const config = { type: "stdio", name: "files", env: {} } as never;

/** The texts that the model sees of a result. */
function seen(structuredContent: unknown, content: readonly unknown[]): string[] {
  const raw = { content, structuredContent };
  const read = readResult(raw, config, "t");
  return read.content.flatMap((block) => (block.type === "text" ? [block.text] : ["image"]));
}

const file = 'line "one"\n\tline <two> \\ three\n'.repeat(20);
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const weather = { temperature: 36, conditions: "Light rain", humidity: 82 };

type Row = [name: string, structured: unknown, content: readonly unknown[]];

const repeated: Row[] = [
  ["a wrapper around the text", { content: file }, [text(file)]],
  ["a list of text blocks", { content: [text(file)] }, [text(file)]],
  ["a short wrapper", { content: "ok" }, [text("ok\n")]],
  ["a wrapper in a wrapper", { result: { text: file } }, [text(file)]],
  ["a text with a heading above it", { content: file }, [text(`README.md:\n${file}`)]],
  ["a list of the blocks", { result: ["one", "two"] }, [text("one"), text("two")]],
  ["a list of the lines", { files: ["a.ts", "b.ts"] }, [text("a.ts\nb.ts")]],
  ["a number", { result: 5 }, [text("5")]],
  ["the same JSON", weather, [text(JSON.stringify(weather, null, 2))]],
  [
    "the same JSON in another order",
    weather,
    [text('{"humidity":82,"temperature":36,"conditions":"Light rain"}')],
  ],
  ["the text in JSON in a text", { content: file }, [text(JSON.stringify({ content: file }))]],
  [
    "one JSON per block",
    {
      result: [
        { id: 1, ok: true },
        { id: 2, ok: false },
      ],
    },
    [text('{"id":1,"ok":true}'), text('{"id":2,"ok":false}')],
  ],
  ["a sentence", weather, [text("Temperature: 36, conditions: Light rain, humidity 82.")]],
  [
    "an image",
    { content: [{ type: "image", data: png, mimeType: "image/png" }] },
    [{ type: "image", data: png, mimeType: "image/png" }],
  ],
  [
    "a resource",
    { content: [{ uri: "a://b", text: file }] },
    [{ type: "resource", resource: { uri: "a://b", text: file } }],
  ],
];

test("a structured result that the text repeats is not sent", () =>
  everyRow(repeated)(([_name, structured, content]) =>
    expect(seen(structured, content)).toHaveLength(content.length),
  ));

const unseen: Row[] = [
  ["without any text", weather, []],
  ["a new value", weather, [text("Temperature: 36, conditions: Light rain")]],
  ["another value", { ...weather, humidity: 8 }, [text(JSON.stringify(weather))]],
  ["a part of a number", { count: 1, total: 5 }, [text("count 15, total 5")]],
  ["keys that the text does not name", { min: 3, max: 7 }, [text("3 7")]],
  ["an empty list", { errors: [], count: 3 }, [text("count: 3")]],
  ["a count of a list", { size: 0, files: [] }, [text("Nothing.")]],
  ["a flag", { exists: true, path: "a.ts" }, [text("path: a.ts")]],
];

test("a structured result with something new is sent", () =>
  everyRow(unseen)(([_name, structured, content]) =>
    expect(JSON.parse(seen(structured, content).at(-1)!)).toEqual(structured),
  ));

test("a structured result that is nested too deep to compare does not fail the call", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  expect(seen({ deep }, [text("[".repeat(20_000))])).toHaveLength(1);
});

test("control characters of a structured result do not reach the model", () => {
  expect(seen({ a: "x\u009b31m\u202ey" }, [])).toEqual(['{"a":"xy"}']);
});
