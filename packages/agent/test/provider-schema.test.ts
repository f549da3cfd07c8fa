import { describe, expect, it, test } from "vitest";
import { fitArguments } from "../src/tools/fit-arguments.ts";
import { providerSchema } from "../src/tools/provider-schema.ts";

const text = { type: "string" };
const number = { type: "number" };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("a schema that providers refuse", () => {
  const schemas: [string, Record<string, unknown>, object][] = [
    ["nothing at all", {}, object({})],
    ["no properties", { type: "object", properties: null, required: [] }, object({})],
    ["a nullable object", { type: ["object", "null"], properties: { a: text } }, object({ a: text })],
    ["required: null", object({ a: text }, { required: null }), object({ a: text })],
    [
      "required: true in the property",
      object({ a: { ...text, required: true } }),
      object({ a: text }, { required: ["a"] }),
    ],
    [
      "required properties that do not exist",
      object({ a: text }, { required: ["b", "a", "a"] }),
      object({ a: text }, { required: ["a"] }),
    ],
    [
      "anyOf at the top",
      {
        anyOf: [
          object({ path: text }, { required: ["path"] }),
          object({ path: number, url: text }, { required: ["url"] }),
        ],
      },
      object({ path: { anyOf: [text, number] }, url: text }, { description: "Give path, or url." }),
    ],
    [
      "oneOf beside properties",
      object(
        { a: text, b: text },
        { required: ["a"], oneOf: [{ required: ["a", "b"] }, { required: ["b"] }] },
      ),
      object({ a: text, b: text }, { required: ["a", "b"], description: "Give a and b, or b." }),
    ],
    [
      "allOf at the top",
      {
        allOf: [object({ a: text }, { required: ["a"] }), { $ref: "#/definitions/b" }],
        definitions: { b: object({ b: text }) },
      },
      object({ a: text, b: text }, { required: ["a"], definitions: { b: object({ b: text }) } }),
    ],
    [
      "a reference at the top",
      { $ref: "#/$defs/a", $defs: { a: object({ a: text }) } },
      object({ a: text }, { $defs: { a: object({ a: text }) } }),
    ],
    ["not and enum at the top", object({}, { not: {}, enum: [{}], const: {} }), object({})],
    ["a circle", { anyOf: [{ $ref: "#" }, { $ref: "#" }], allOf: [{ $ref: "#" }] }, object({})],
    [
      "a dialect",
      { $schema: "https://json-schema.org/draft-07/schema", $id: "x", type: "object" },
      object({}),
    ],
  ];
  test("is changed to a plain object schema", () => {
    expect(schemas.map(([name, schema]) => [name, schema, providerSchema(schema)])).toEqual(schemas);
  });

  const properties: [string, unknown, object][] = [
    ["null", null, {}],
    ["true", true, {}],
    ["the name of a type", "string", text],
    ["a type of Python", { type: "int" }, { type: "integer" }],
    ["a type in capitals", { type: "STRING" }, text],
    ["an unknown type", { type: "any" }, {}],
    ["a list without items", { type: "array" }, { type: "array", items: {} }],
    [
      "a list by position",
      { type: "array", items: [text, number] },
      { type: "array", items: { anyOf: [text, number] } },
    ],
    [
      "null keywords",
      { ...text, description: null, enum: null, default: null, minLength: null, foo: null },
      { ...text, default: null },
    ],
    ["an empty choice", { ...text, enum: [], anyOf: [], title: 5 }, text],
    ["a value listed twice", { enum: ["a", "a", null] }, { enum: ["a", null] }],
    [
      "an exclusive limit of an old draft",
      { ...number, minimum: 1, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: false },
      { ...number, exclusiveMinimum: 1, maximum: 2 },
    ],
    ["an expression of Python", { ...text, pattern: "(?P<name>x)" }, text],
    [
      "a reference that leads nowhere",
      { $ref: "#/$defs/none", description: "A thing." },
      { description: "A thing." },
    ],
    ["a choice inside", { anyOf: [{ type: "str" }, null] }, { anyOf: [text, {}] }],
    ["a property inside", object({ a: null }, { required: null }), object({ a: {} })],
  ];
  test("is changed in a property", () => {
    for (const [name, schema, expected] of properties)
      expect.soft(providerSchema(object({ a: schema })), name).toEqual(object({ a: expected }));
  });

  it("stays if it is sound", () => {
    const schema = object(
      {
        a: { anyOf: [text, { type: "null" }], default: null },
        b: { type: "array", items: { $ref: "#/$defs/c" } },
      },
      { required: ["a"], additionalProperties: false, $defs: { c: { enum: [1, "x"] } } },
    );
    expect(JSON.stringify(providerSchema(schema))).toBe(JSON.stringify(schema));
  });

  it("gets property names that every provider accepts, and calls get the real names back", () => {
    const schema = object(
      { $filter: number, "@id": text, "a b": text, a_b: text },
      { required: ["$filter"] },
    );
    const { properties, required } = providerSchema(schema);
    expect(properties).toEqual({ _filter: number, _id: text, a_b: text });
    expect(required).toEqual(["_filter"]);
    expect(fitArguments({ _filter: "5", _id: "x", a_b: "y" }, schema)).toEqual({
      $filter: 5,
      "@id": "x",
      a_b: "y",
    });
  });
});
