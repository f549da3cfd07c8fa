import { describe, expect, it, test } from "vitest";
import { fitArguments } from "../src/tools/fit-arguments.ts";

const strings = { type: "array", items: { type: "string" } };
const numbers = { type: "array", items: { type: "number" } };
const edits = {
  type: "array",
  items: { type: "object", properties: { from: { type: "string" }, all: { type: "boolean" } } },
};

describe("a value of another type", () => {
  const conversions: [string, unknown, object, unknown][] = [
    ["a number as text", "30", { type: "number" }, 30],
    ["a whole number as text", " -30 ", { type: "integer" }, -30],
    ["a nullable number as text", "3e2", { type: ["number", "null"] }, 300],
    ["a boolean as text", "true", { type: "boolean" }, true],
    ["a boolean as Python writes it", "False", { type: "boolean" }, false],
    ["text as a number", 30, { type: "string" }, "30"],
    ["text as a boolean", true, { type: "string" }, "true"],
    ["one item instead of a list", "a.ts", strings, ["a.ts"]],
    ["one object instead of a list", { from: "a", all: "true" }, edits, [{ from: "a", all: true }]],
    ["one number as text instead of a list", "3", numbers, [3]],
    ["a list as JSON text", '["a","b"]', strings, ["a", "b"]],
    ["a list of numbers as text", ["1", "2"], numbers, [1, 2]],
    ["an object as JSON text", '{"from":"a"}', edits.items, { from: "a" }],
    ["a listed number as text", "2", { enum: [1, 2] }, 2],
    ["a listed fraction of text as a number", 1.5, { enum: ["1.5", "2.5"] }, "1.5"],
    ["a listed null as text", "null", { enum: ["all", null] }, null],
    ["a fixed value as text", "false", { const: false }, false],
    ["a number of one branch", "5", { anyOf: [{ type: "number" }, { type: "null" }] }, 5],
    ["a referenced type", "5", { $ref: "#/$defs/count" }, 5],
    ["a type of allOf", "5", { allOf: [{ type: "integer" }, { minimum: 1 }] }, 5],
  ];
  test("is converted to the type of its schema", () => {
    for (const [name, value, schema, expected] of conversions) {
      const root = { type: "object", properties: { value: schema }, $defs: { count: { type: "integer" } } };
      expect.soft(fitArguments({ value }, root), name).toEqual({ value: expected });
    }
  });

  const uncertain: [string, unknown, object][] = [
    ["text where a number is not allowed alone", "30", { type: ["string", "number"] }],
    ["text that one branch allows", "30", { anyOf: [{ type: "number" }, { type: "string" }] }],
    ["text that is no number", "30 s", { type: "number" }],
    ["an octal number", "007", { type: "number" }],
    ["a fraction for a whole number", "3.5", { type: "integer" }],
    ["a number that loses digits", "12345678901234567890", { type: "integer" }],
    ["a fraction for text, which may have lost zeros", 1.1, { type: "string" }],
    [
      "text with two readings",
      "1",
      { anyOf: [{ type: "number" }, { type: "array", items: { type: "number" } }] },
    ],
    ["empty text for a number", "", { type: "number" }],
    ["a yes for a boolean", "yes", { type: "boolean" }],
    ["a list for text", ["a"], { type: "string" }],
    ["anything for no type", "30", {}],
    ["anything for false", "30", false as never],
    ["text for an unknown reference", "30", { $ref: "https://example.com/schema" }],
  ];
  test("stays as it is if no conversion is certain", () => {
    for (const [name, value, schema] of uncertain)
      expect
        .soft(fitArguments({ value }, { type: "object", properties: { value: schema } }), name)
        .toEqual({ value });
  });

  it("removes a null for an optional property that does not allow it", () => {
    const properties = { a: { type: "string" }, b: { type: "string" }, c: { type: ["string", "null"] } };
    const schema = { type: "object", properties, required: ["b"] };
    expect(fitArguments({ a: null, b: null, c: null, d: null }, schema)).toEqual({
      b: null,
      c: null,
      d: null,
    });
  });

  it("is converted by additionalProperties and prefixItems", () => {
    const pair = { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] };
    expect(fitArguments({ any: ["a", "1"] }, { type: "object", additionalProperties: pair })).toEqual({
      any: ["a", 1],
    });
  });

  const circles = [
    [{ type: "object", properties: { value: { $ref: "#/properties/value" } } }],
    [{ type: "object", properties: { value: { type: "array", items: { $ref: "#/properties/value" } } } }],
    [{ $ref: "#" }],
    [{ anyOf: [{ $ref: "#" }, { $ref: "#" }] }],
    [{ type: "object", allOf: [{ $ref: "#" }, { $ref: "#" }] }],
  ] as const;
  test("stays as it is if its schema refers to itself without an end", () => {
    for (const [schema] of circles)
      expect.soft(fitArguments({ value: "1" }, schema), JSON.stringify(schema)).toEqual({ value: "1" });
  });
});
