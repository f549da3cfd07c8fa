import { isRecord } from "@bonsai-agent/messages";
import { firstNamed, listOf, propertyName, targetOf } from "./fit-arguments.ts";

type Schema = Record<string, unknown>;

/**
 * Rewrites the schema of a tool's parameters so that every provider accepts it: an object without `anyOf` and the like
 * at the top, only keywords with valid values, no broken references, and property names that Anthropic allows. The
 * result may be looser than the original, but never contradicts it.
 */
export function providerSchema(parameters: Schema): Schema {
  const flat = withoutChoices(parameters, parameters, { left: MAX_MERGED });
  const { type: _type, properties, ...rest } = cleanSchema(flat, parameters);
  return { type: "object", properties: isRecord(properties) ? properties : {}, ...rest };
}

/** Keywords that providers refuse at the top. */
const REFUSED_AT_TOP = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"];
/** Maximum number of merged branches: a schema can refer to itself. */
const MAX_MERGED = 50;

/** One object with the properties of all branches. A property is required if every branch requires it. */
function withoutChoices(schema: Schema, root: Schema, budget: { left: number }): Schema {
  const own = Object.fromEntries(Object.entries(schema).filter(([key]) => !REFUSED_AT_TOP.includes(key)));
  const merged = (branch: unknown): Schema[] => {
    if (!isRecord(branch) || ![branch.type ?? "object"].flat().includes("object")) return [];
    budget.left -= 1;
    return budget.left < 0 ? [] : [withoutChoices(branch, root, budget)];
  };
  const parts = [own, ...[targetOf(schema.$ref, root), ...listOf(schema.allOf)].flatMap(merged)];
  const choices = [schema.anyOf, schema.oneOf].map((list) => listOf(list).flatMap(merged));
  const required = new Set(parts.flatMap((part) => listOf(part.required)));
  for (const branches of choices) for (const name of requiredByAll(branches)) required.add(name);
  const properties = joinedProperties([...parts, ...choices.flat()]);
  const description = [own.description, ...choices.map(choiceText)].filter(isText).join(" ");
  return {
    ...own,
    ...(description !== "" && { description }),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.size > 0 && { required: [...required] }),
  };
}

function requiredByAll(branches: readonly Schema[]): unknown[] {
  const [first = [], ...others] = branches.map((branch) => listOf(branch.required));
  return first.filter((name) => others.every((other) => other.includes(name)));
}

/** Describes the choice in words, because the schema no longer contains it. */
function choiceText(branches: readonly Schema[]): string | undefined {
  const names = branches.map(({ required }) => listOf(required).filter(isText).join(" and "));
  const choices = [...new Set(names)];
  return choices.length < 2 || choices.includes("") ? undefined : `Give ${choices.join(", or ")}.`;
}

/** Joins the properties of all parts. A property with two forms becomes an `anyOf`. */
function joinedProperties(parts: readonly Schema[]): Schema {
  const all = parts.flatMap(({ properties }) => (isRecord(properties) ? Object.entries(properties) : []));
  return mapValues(Object.fromEntries(Map.groupBy(all, ([name]) => name)), (entries) => {
    const forms = uniqueValues(listOf(entries).map((entry) => listOf(entry)[1]));
    return forms.length === 1 ? forms[0] : { anyOf: forms };
  });
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
/** Type names of other languages. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: "integer",
  float: "number",
  double: "number",
  str: "string",
  text: "string",
  bool: "boolean",
  list: "array",
  dict: "object",
};

function typeName(type: unknown): string | undefined {
  if (typeof type !== "string") return undefined;
  const name = type.toLowerCase();
  return TYPES.includes(name) ? name : TYPE_NAMES[name];
}

const isText = (value: unknown) => typeof value === "string";
const isList = (value: unknown) => Array.isArray(value) && value.length > 0;

/** Types of keyword values. A value of another type would make the whole request invalid. */
const VALUE_TYPES: Readonly<Record<string, string>> = {
  ...{ title: "string", description: "string", format: "string", uniqueItems: "boolean" },
  ...{ minimum: "number", maximum: "number", exclusiveMinimum: "number", exclusiveMaximum: "number" },
  ...{ multipleOf: "number", minLength: "number", maxLength: "number", minItems: "number" },
  ...{ maxItems: "number", minProperties: "number", maxProperties: "number" },
};

/** Keywords whose value may be null. */
const NULLABLE = new Set(["default", "const", "example"]);

function isExpression(pattern: unknown): boolean {
  if (typeof pattern !== "string") return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

function cleanSchema(given: unknown, root: Schema): Schema {
  // Some servers write the name of a type instead of a schema.
  if (!isRecord(given)) return typeName(given) === undefined ? {} : { type: typeName(given) };
  const clean: Schema = {};
  for (const key of Object.keys(given)) {
    const kept = cleanKeyword(key, given, root);
    if (kept !== undefined) clean[key] = kept;
  }
  const needed = requiredNames(given);
  if (needed.length > 0) clean.required = needed;
  if (given.exclusiveMinimum === true) asExclusive(clean, "minimum", "exclusiveMinimum");
  if (given.exclusiveMaximum === true) asExclusive(clean, "maximum", "exclusiveMaximum");
  if ([clean.type].flat().includes("array") && clean.items === undefined)
    clean.items = itemsOf(clean.prefixItems);
  return clean;
}

/** Returns undefined to leave the keyword out. */
function cleanKeyword(key: string, given: Schema, root: Schema): unknown {
  const value = given[key];
  switch (key) {
    case "type":
      return cleanType(value);
    case "$schema":
    case "$id":
      return undefined;
    case "properties":
      return isRecord(value) ? cleanProperties(value, root) : undefined;
    case "required":
      return requiredNames(given).length > 0 ? [] : undefined;
    case "$ref":
      return targetOf(value, root) === undefined ? undefined : value;
    case "$defs":
    case "definitions":
    case "patternProperties":
      return isRecord(value) ? mapValues(value, (schema) => cleanSchema(schema, root)) : undefined;
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return isList(value) ? listOf(value).map((schema) => cleanSchema(schema, root)) : undefined;
    case "items":
      if (!Array.isArray(value)) return cleanSchema(value, root);
      return itemsOf(value.map((schema) => cleanSchema(schema, root)));
    case "enum":
      return isList(value) ? uniqueValues(listOf(value)) : undefined;
    case "additionalProperties":
      return isRecord(value) ? cleanSchema(value, root) : typeof value === "boolean" ? value : undefined;
    case "examples":
      return Array.isArray(value) ? value : undefined;
    case "pattern":
      return isExpression(value) ? value : undefined;
  }
  if (value === null && !NULLABLE.has(key)) return undefined;
  return typeof value === (VALUE_TYPES[key] ?? typeof value) ? value : undefined;
}

function cleanType(value: unknown): unknown {
  const types = [...new Set([value].flat().map(typeName))].filter((type) => type !== undefined);
  return Array.isArray(value) && types.length > 1 ? types : types[0];
}

/** One schema for all items of a list: providers refuse schemas by position, or read them in different ways. */
function itemsOf(schemas: unknown): Schema {
  const forms = uniqueValues(listOf(schemas));
  if (forms.length > 1) return { anyOf: forms };
  return isRecord(forms[0]) ? forms[0] : {};
}

/** Converts `exclusiveMinimum: true` of an old draft. */
function asExclusive(clean: Schema, limit: string, exclusive: string): void {
  if (typeof clean[limit] !== "number") return;
  clean[exclusive] = clean[limit];
  delete clean[limit];
}

/** Gives the properties names that Anthropic allows. Leaves a property out if another one has its name. */
function cleanProperties(properties: Schema, root: Schema): Schema {
  const names = Object.keys(properties);
  const kept = Object.entries(properties).filter(
    ([name, schema]) => schema !== false && firstNamed(propertyName(name), names) === name,
  );
  return Object.fromEntries(kept.map(([name, schema]) => [propertyName(name), cleanSchema(schema, root)]));
}

/** Required properties that exist. An old draft writes `required: true` into the property. */
function requiredNames({ properties, required }: Schema): string[] {
  const listed = listOf(required).filter(isText).map(String);
  if (!isRecord(properties)) return [...new Set(listed)];
  const own = Object.entries(properties).flatMap(([name, schema]) =>
    isRecord(schema) && schema.required === true ? [name] : [],
  );
  const known = [...listed, ...own].filter(
    (name) => isRecord(properties[name]) && Object.hasOwn(properties, name),
  );
  return [...new Set(known.map(propertyName))];
}

function uniqueValues(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

function mapValues(record: Schema, change: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
