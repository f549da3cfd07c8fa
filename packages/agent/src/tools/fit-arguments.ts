import { isRecord } from "@bonsai-agent/messages";
import { firstNamed, targetOf } from "./provider-schema.ts";

type Schema = Readonly<Record<string, unknown>>;

/** One conversion: the document that references point into, and the steps left, because a schema can refer to itself. */
interface Root {
  schema: Schema;
  steps: number;
}

const MAX_STEPS = 100_000;

/**
 * Converts arguments to the types of their JSON Schema if nothing is lost: `"30"` to a number, `"true"` to a boolean, a
 * whole number or boolean to text, JSON text to its list or object, a single value to a list. Removes a null for an
 * optional property, and gives renamed properties their own names back. Keeps a value that its schema allows, and a
 * value with two possible conversions.
 */
export function fitArguments(args: Record<string, unknown>, schema: Schema): Record<string, unknown> {
  try {
    const fitted = fit(args, schema, { schema, steps: MAX_STEPS });
    return isRecord(fitted) ? fitted : args;
  } catch (error) {
    // The schema refers to itself without an end: keep the arguments.
    if (error instanceof RangeError) return args;
    throw error;
  }
}

function fit(value: unknown, given: unknown, root: Root): unknown {
  const schema = resolve(given, root);
  if (schema === undefined) return value;
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  const fits = choices === undefined ? value : fitChoice(value, choices, root);
  const own = accepts(fits, schema) ? fits : convert(fits, schema, root);
  const parts = Array.isArray(schema.allOf) ? schema.allOf : [];
  return parts.reduce<unknown>((inner, part) => fit(inner, part, root), fitInside(own, schema, root));
}

function fitInside(value: unknown, schema: Schema, root: Root): unknown {
  if (Array.isArray(value)) {
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    return value.map((item, at) => fit(item, prefix[at] ?? schema.items, root));
  }
  if (!isRecord(value)) return value;
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  const entries = Object.entries(value).map(([given, inner]) => {
    // `providerSchema` renamed the property if the provider does not allow its name.
    const name = firstNamed(given, names) ?? given;
    const property = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return [name, fit(inner, property, root)] as const;
  });
  const required = Array.isArray(schema.required) ? schema.required : [];
  const isLeftOut = ([name, inner]: readonly [string, unknown]) =>
    inner === null &&
    !required.includes(name) &&
    Object.hasOwn(properties, name) &&
    !allows(null, properties[name], root);
  return Object.fromEntries(entries.filter((entry) => !isLeftOut(entry)));
}

/** Fits the value to the one branch that allows it, else to the branches if they all convert it to the same value. */
function fitChoice(value: unknown, choices: readonly unknown[], root: Root): unknown {
  const accepting = choices.filter((choice) => allows(value, choice, root));
  if (accepting.length > 0) return accepting.length === 1 ? fit(value, accepting[0], root) : value;
  const readings = choices
    .map((choice) => ({ choice, reading: fit(value, choice, root) }))
    .filter(({ choice, reading }) => allows(reading, choice, root));
  const texts = new Set(readings.map(({ reading }) => JSON.stringify(reading)));
  return texts.size === 1 ? readings[0]!.reading : value;
}

function allows(value: unknown, given: unknown, root: Root): boolean {
  const schema = resolve(given, root);
  if (schema === undefined) return true;
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  return accepts(value, schema) && (choices?.some((choice) => allows(value, choice, root)) ?? true);
}

/** True if the value has a type of the schema, and is one of its values if it lists them. */
function accepts(value: unknown, schema: Schema): boolean {
  const listed = valuesOf(schema);
  if (listed !== undefined && !listed.includes(value)) return false;
  const types = typesOf(schema);
  return types.length === 0 || types.some((type) => hasType(value, type));
}

function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

/** Returns the value itself if it has no conversion, or several. */
function convert(value: unknown, schema: Schema, root: Root): unknown {
  const listed = valuesOf(schema)?.filter((each) => String(each) === String(value)) ?? [];
  if (listed.length === 1 && typeof value !== "object") return listed[0];
  const readings = typesOf(schema).flatMap((type) => readAs(value, type, schema, root));
  const sound = readings.filter((reading) => accepts(reading, schema));
  return new Set(sound.map((reading) => JSON.stringify(reading))).size === 1 ? sound[0] : value;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Converts the value to a type. Returns at most one reading. */
function readAs(value: unknown, type: unknown, schema: Schema, root: Root): unknown[] {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (type === "string") {
    const isExact = typeof value === "boolean" || Number.isSafeInteger(value);
    return isExact ? [String(value)] : [];
  }
  if (type === "number" || type === "integer") {
    if (text === undefined || !NUMBER.test(text)) return [];
    return Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? [Number(text)] : [];
  }
  if (type === "boolean")
    return text !== undefined && /^(?:true|false)$/i.test(text) ? [/^t/i.test(text)] : [];
  if (type === "object") return parseJson(text).filter(isRecord);
  if (type === "array") return asList(value, text, schema, root);
  return [];
}

function asList(value: unknown, text: string | undefined, schema: Schema, root: Root): unknown[] {
  const list = parseJson(text).filter(Array.isArray);
  if (list.length > 0) return list;
  if (value === null || value === undefined || value === "") return [];
  const item = fit(value, schema.items, root);
  return allows(item, schema.items, root) ? [[item]] : [];
}

function parseJson(text: string | undefined): unknown[] {
  if (text === undefined || !/^[[{]/.test(text)) return [];
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

function typesOf({ type }: Schema): readonly unknown[] {
  if (type === undefined) return [];
  return Array.isArray(type) ? type : [type];
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  return "const" in schema ? [schema.const] : undefined;
}

/**
 * Follows references into the same document. Returns undefined for a value that is no schema.
 * @throws RangeError after too many steps
 */
function resolve(given: unknown, root: Root): Schema | undefined {
  root.steps -= 1;
  if (root.steps < 0) throw new RangeError("The schema has no end.");
  if (!isRecord(given)) return undefined;
  const { $ref } = given;
  if (typeof $ref !== "string") return given;
  return resolve(targetOf($ref, root.schema), root);
}
