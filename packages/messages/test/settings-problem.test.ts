import { expect, test } from "vitest";
import { z } from "zod";
import { parseSettings } from "../src/host.ts";
import { BonsaiError } from "../src/index.ts";

const schema = z.strictObject({
  name: z.string().optional(),
  loud: z.boolean().optional(),
  size: z.union([z.enum(["off", "auto"]), z.number().int().min(1)]).optional(),
  list: z.array(z.strictObject({ id: z.string().min(1) })).optional(),
  retry: z
    .strictObject({ tries: z.number().max(9).optional().meta({ description: "Retries." }) })
    .prefault({}),
});

const error = (problem: { message: string; hint: string }) =>
  new BonsaiError({ code: "made_up", ...problem });
const parsed = (input: unknown, section?: string) =>
  parseSettings(schema, input, { ...(section !== undefined && { section }), error });
const inFile = (input: unknown, of: z.ZodType = schema) =>
  parseSettings(of, input, { file: "a.json", error });

test("returns valid settings with defaults", () => {
  expect(parsed({ name: "a" })).toEqual({ name: "a", retry: {} });
});

const wrongValues = [
  [{ loud: 1 }, "loud is 1, but must be true or false"],
  [{ name: {} }, "name is {}, but must be a string"],
  [{ size: "on" }, 'size is "on", but must be one of "off", "auto", or a number'],
  [{ size: 0 }, "size is 0, but must be a number of at least 1"],
  [{ list: [{ id: "" }] }, 'list[0].id is "", but must be a non-empty string'],
  [{ list: "a" }, 'list is "a", but must be a list'],
  [{ retry: { tries: 10 } }, "retry.tries is 10, but must be a number of at most 9"],
  [{ name: ["x".repeat(200)] }, `name is ["${"x".repeat(77)}…, but must be a string`],
] as const;
test("settings and files name a wrong value in the same words", () => {
  for (const [input, problem] of wrongValues) {
    expect.soft(() => inFile(input), JSON.stringify(input)).toThrow(`a.json: ${problem}.`);
    expect.soft(() => parsed(input), JSON.stringify(input)).toThrow(`The setting ${problem}.`);
    expect.soft(() => parsed(input, "part"), JSON.stringify(input)).toThrow(`The setting part.${problem}.`);
  }
});

test("names an unknown key and the known ones beside it", () => {
  const input = { list: [{ id: "a", name: "b" }] };
  expect(() => inFile(input)).toThrow("a.json: unknown key list[0].name. Known keys: id.");
  expect(() => parsed({ retry: { tires: 1 } })).toThrow(
    "The setting retry.tires is unknown. Known keys: tries.",
  );
});

test("names settings that are no object", () => {
  expect(() => parsed([])).toThrow("The settings are [], but must be a JSON object.");
  expect(() => parsed(3, "part")).toThrow("The setting part is 3, but must be an object.");
});

test("hides values that can be secrets", () => {
  const input = { apiKey: "abc" };
  expect(() => parsed(input)).toThrow("The setting apiKey is unknown.");
  const auth = z.object({ authorization: z.number() });
  const problem = "a.json: authorization is (hidden), but must be a number.";
  expect(() => inFile({ authorization: "open sesame" }, auth)).toThrow(problem);
});
