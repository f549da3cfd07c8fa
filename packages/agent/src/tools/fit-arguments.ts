import { isRecord } from "@bonsai-agent/messages";

type Schema = Readonly<Record<string, unknown>>;

/** The document that references point into, and the steps left, because a schema can refer to itself. */
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
  const chosen = fitChoice(value, choicesOf(schema), root);
  const fitted = accepts(chosen, schema) ? chosen : convert(chosen, schema, root);
  return listOf(schema.allOf).reduce(
    (inner, part) => fit(inner, part, root),
    fitInside(fitted, schema, root),
  );
}

function fitInside(value: unknown, schema: Schema, root: Root): unknown {
  if (Array.isArray(value))
    return value.map((item, at) => fit(item, listOf(schema.prefixItems)[at] ?? schema.items, root));
  if (!isRecord(value)) return value;
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  const entries = Object.entries(value).flatMap(([given, inner]) => {
    // `providerSchema` renamed the property if the provider does not allow its name.
    const name = firstNamed(given, names) ?? given;
    const isKnown = Object.hasOwn(properties, name);
    const isOptional = isKnown && !listOf(schema.required).includes(name);
    if (inner === null && isOptional && !allows(null, properties[name], root)) return [];
    return [[name, fit(inner, isKnown ? properties[name] : schema.additionalProperties, root)]];
  });
  return Object.fromEntries(entries);
}

/** Fits the value to the one branch that allows it, else to the branches if they all convert it to the same value. */
function fitChoice(value: unknown, choices: readonly unknown[], root: Root): unknown {
  const accepting = choices.filter((choice) => allows(value, choice, root));
  if (accepting.length > 0) return accepting.length === 1 ? fit(value, accepting[0], root) : value;
  const readings = choices.flatMap((choice) => {
    const reading = fit(value, choice, root);
    return allows(reading, choice, root) ? [reading] : [];
  });
  return only(readings, value);
}

/** The only value of a list; `otherwise` for none, or for different ones. */
function only(values: readonly unknown[], otherwise: unknown): unknown {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1 ? values[0] : otherwise;
}

function allows(value: unknown, given: unknown, root: Root): boolean {
  const schema = resolve(given, root);
  if (schema === undefined) return true;
  const choices = choicesOf(schema);
  return (
    accepts(value, schema) && (choices.length === 0 || choices.some((choice) => allows(value, choice, root)))
  );
}

/** True if the value has a type of the schema, and is one of its values if it lists them. */
function accepts(value: unknown, schema: Schema): boolean {
  const listed = listedIn(schema);
  if (listed !== undefined && !listed.includes(value)) return false;
  const types = [schema.type ?? []].flat();
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

/** Converts the value if it has exactly one reading that the schema accepts. */
function convert(value: unknown, schema: Schema, root: Root): unknown {
  const listed = listedIn(schema)?.filter(
    (each) => typeof value !== "object" && String(each) === String(value),
  );
  const readings = [...(listed ?? []), ...readingsOf(value)].filter((reading) => accepts(reading, schema));
  if (readings.length > 0 || value === null || value === undefined || value === "")
    return only(readings, value);
  const item = fit(value, schema.items, root);
  return accepts([item], schema) && allows(item, schema.items, root) ? [item] : value;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Other values that a value may mean. Text that is no exact number stays text. */
function readingsOf(value: unknown): unknown[] {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return [String(value)];
  const text = typeof value === "string" ? value.trim() : "";
  if (NUMBER.test(text) && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER) return [Number(text)];
  if (/^(?:true|false)$/i.test(text)) return [/^t/i.test(text)];
  if (!/^[[{]/.test(text)) return [];
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

/** The values that the schema lists; undefined if it allows others. */
function listedIn(schema: Schema): readonly unknown[] | undefined {
  if ("const" in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

function choicesOf({ anyOf, oneOf }: Schema): readonly unknown[] {
  return Array.isArray(anyOf) ? anyOf : listOf(oneOf);
}

/** Follows references. Returns undefined for a value that is no schema. @throws RangeError after too many steps */
function resolve(given: unknown, root: Root): Schema | undefined {
  root.steps -= 1;
  if (root.steps < 0) throw new RangeError("The schema has no end.");
  if (!isRecord(given)) return undefined;
  const { $ref } = given;
  if (typeof $ref !== "string") return given;
  return resolve(targetOf($ref, root.schema), root);
}

/** Finds the property by the name that the provider sees. */
export function firstNamed(wanted: string, names: readonly string[]): string | undefined {
  return names.includes(wanted) ? wanted : names.find((name) => propertyName(name) === wanted);
}

/** Rewrites the name of a property so that every provider accepts it. */
export function propertyName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64) || "_";
}

/** The part of the document that a reference names. */
export function targetOf(reference: unknown, root: Schema): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  const keys = reference.slice(1).split("/").slice(1);
  return keys.reduce<unknown>((inner, key) => {
    // A key with an invalid escape stays as it is.
    const decoded = key.replaceAll(/(?:%[\da-f]{2})+/gi, (code) =>
      Buffer.from(code.replaceAll("%", ""), "hex").toString(),
    );
    const name = decoded.replaceAll("~1", "/").replaceAll("~0", "~");
    return isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined;
  }, root);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
