import { agentSettingsSchema } from "@bonsai-agent/agent";
import { code, page, prose, sentence, table } from "./markdown.ts";

interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  properties?: Readonly<Record<string, Schema>>;
}

/** Every setting with its values, default and description, read from the schema. */
export function settingsPage(): string {
  const schema = agentSettingsSchema.toJSONSchema({ io: "input" }) as Schema;
  return page(
    "Settings",
    "All settings of `~/.bonsai/settings.json` and of a trusted project's `.bonsai/settings.json`. [The guide](../settings.md) shows how they combine. The JSON Schema is `@bonsai-agent/agent/settings.schema.json`.",
    [table(["setting", "values", "default", ""], rowsOf(schema, ""))],
  );
}

function rowsOf({ properties = {} }: Schema, parent: string): string[][] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${parent}${key}`;
    if (key === "$schema") return [];
    if (schema.properties !== undefined) return rowsOf(schema, `${name}.`);
    const preset = schema.default === undefined ? "" : code(JSON.stringify(schema.default));
    return [[code(name), valuesOf(schema), preset, prose(sentence(schema.description ?? ""))]];
  });
}

function valuesOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.anyOf !== undefined) return schema.anyOf.map(valuesOf).join(", ");
  if (schema.type === "object") return "settings by name";
  if (schema.type === "array")
    return `list of ${schema.items === undefined ? "values" : valuesOf(schema.items)}`;
  const isBounded = schema.minimum !== undefined && schema.minimum > Number.MIN_SAFE_INTEGER;
  const least = isBounded ? ` from ${schema.minimum}` : "";
  const isLimited = schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER;
  const type = { integer: "whole number", string: "text", boolean: "`true`, `false`" }[schema.type ?? ""];
  return `${type ?? schema.type ?? "value"}${least}${isLimited ? ` to ${schema.maximum}` : ""}`;
}

/** The JSON Schema of the settings, as the package publishes it. */
export function settingsSchema(): string {
  const { $schema, ...schema } = agentSettingsSchema.toJSONSchema({ io: "input" });
  return `${JSON.stringify({ $schema, title: "Settings of the Bonsai agent", ...schema }, null, 2)}\n`;
}
