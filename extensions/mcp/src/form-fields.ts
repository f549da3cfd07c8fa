import type { ElicitRequestFormParams, PrimitiveSchemaDefinition } from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";

export type FieldValue = string | number | boolean | string[];

/** One of what can be chosen: `value` is what the server gets. */
interface Choice {
  value: string;
  label: string;
}

/** A field of a form that a server wants filled in. */
export interface FormField {
  /** What the server calls it. */
  key: string;
  /** Harmless, on one line. */
  label: string;
  /** Harmless, on one line; empty where the server gives none. */
  description: string;
  isRequired: boolean;
  kind: "text" | "number" | "boolean" | "choice" | "choices";
  /** Of a choice, what there is. */
  choices: readonly Choice[];
  default: FieldValue | undefined;
  /** What a typed text may look like, in words; empty where any will do. */
  wanted: string;
  /**
   * Reads what was typed or chosen.
   * @returns its value, or what is wrong with it
   */
  read(given: string | readonly string[]): { value: FieldValue } | { problem: string };
}

/** The fields of a form, in the server's order. */
export function formFields({
  properties,
  required = [],
}: ElicitRequestFormParams["requestedSchema"]): FormField[] {
  const names = Object.entries(properties).map(
    ([key, { title }]) => plainLine(title || key, 60) || "(no name)",
  );
  return Object.entries(properties).map(([key, schema], at) => {
    const name = names[at]!;
    const isTwice = names.filter((other) => other === name).length > 1;
    return {
      key,
      label: isTwice ? `${name} (${plainLine(key, 40)})` : name,
      description: plainLine(schema.description ?? "", 300),
      isRequired: required.includes(key),
      ...kindOf(schema),
    };
  });
}

type Kind = Pick<FormField, "kind" | "choices" | "default" | "wanted" | "read">;

function kindOf(schema: PrimitiveSchemaDefinition): Kind {
  switch (schema.type) {
    case "boolean":
      return {
        kind: "boolean",
        choices: [],
        default: schema.default,
        wanted: "",
        read: (given) => ({ value: given === "true" }),
      };
    case "number":
    case "integer":
      return numberKind(schema);
    case "array":
      return choicesKind(schema);
    default:
      return "enum" in schema || "oneOf" in schema ? choiceKind(schema) : textKind(schema);
  }
}

type SchemaOf<Type> = Extract<PrimitiveSchemaDefinition, { type: Type }>;
type NumberSchema = Extract<PrimitiveSchemaDefinition, { type: "number" | "integer" }>;

function numberKind({ type, minimum, maximum, default: usual }: NumberSchema): Kind {
  const wanted = [
    type === "integer" ? "a whole number" : "a number",
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
  ].join(", ");
  const isFit = (value: number) =>
    Number.isFinite(value) &&
    (type === "number" || Number.isSafeInteger(value)) &&
    value >= (minimum ?? Number.NEGATIVE_INFINITY) &&
    value <= (maximum ?? Number.POSITIVE_INFINITY);
  return {
    kind: "number",
    choices: [],
    default: usual,
    wanted,
    read(given) {
      const text = String(given).trim();
      const value = Number(text);
      if (text !== "" && isFit(value)) return { value };
      return { problem: `Invalid: ${plainLine(text, 40)}. Enter ${wanted}.` };
    },
  };
}

const formats: Readonly<Record<string, readonly [RegExp | ((text: string) => boolean), string]>> = {
  email: [/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/, "an email address"],
  uri: [(text) => URL.canParse(text), "a URL like https://example.com"],
  date: [(text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(`${text}T00:00:00Z`), "a date like 2026-01-31"],
  "date-time": [
    (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) && isDate(text),
    "a time like 2026-01-31T12:00:00Z",
  ],
};

/** A day that does not exist, like the 31st of February, is none. */
function isDate(text: string): boolean {
  const [year, month, day] = text.split(/\D/, 3).map(Number);
  return !Number.isNaN(Date.parse(text)) && new Date(Date.UTC(year!, month! - 1, day!)).getUTCDate() === day;
}

type TextSchema = Extract<SchemaOf<"string">, { minLength?: number | undefined }>;

function textKind({ format, minLength = 0, maxLength, default: usual }: TextSchema): Kind {
  const [isFormat, words] = (format && formats[format]) || [() => true, ""];
  const isRight = typeof isFormat === "function" ? isFormat : (text: string) => isFormat.test(text);
  const limits = [
    ...(minLength > 0 ? [`at least ${minLength} characters`] : []),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
  ];
  const what = words === "" && limits.length > 0 ? "text" : words;
  const wanted = [what, ...limits].join(", ");
  return {
    kind: "text",
    choices: [],
    default: usual,
    wanted,
    read(given) {
      const value = String(given);
      const length = [...value].length;
      const isFit =
        length >= minLength && length <= (maxLength ?? Number.POSITIVE_INFINITY) && isRight(value);
      return isFit ? { value } : { problem: `Invalid: ${plainLine(value, 40)}. Enter ${wanted}.` };
    },
  };
}

type ChoiceSchema = Extract<SchemaOf<"string">, { enum: string[] } | { oneOf: unknown[] }>;

function choiceKind(schema: ChoiceSchema): Kind {
  const choices =
    "oneOf" in schema
      ? labelled(schema.oneOf.map(({ const: value, title }) => ({ value, label: title })))
      : labelled(
          schema.enum.map((value, at) => ({
            value,
            label: ("enumNames" in schema ? schema.enumNames?.[at] : undefined) ?? value,
          })),
        );
  const isOne = (value: unknown) => choices.some((choice) => choice.value === value);
  return {
    kind: "choice",
    choices,
    default: isOne(schema.default) ? schema.default : undefined,
    wanted: "",
    read: (given) => (isOne(given) ? { value: String(given) } : { problem: "Choose a value from the list." }),
  };
}

function choicesKind({ items, minItems = 0, maxItems, default: usual }: SchemaOf<"array">): Kind {
  const choices =
    "anyOf" in items
      ? labelled(items.anyOf.map(({ const: value, title }) => ({ value, label: title })))
      : labelled(items.enum.map((value) => ({ value, label: value })));
  const wanted = [
    ...(minItems > 0 ? [`at least ${minItems}`] : []),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
  ].join(", ");
  return {
    kind: "choices",
    choices,
    default: usual?.filter((value) => choices.some((choice) => choice.value === value)),
    wanted,
    read(given) {
      const values = choices.map(({ value }) => value).filter((value) => given.includes(value));
      const isFit = values.length >= minItems && values.length <= (maxItems ?? Number.POSITIVE_INFINITY);
      return isFit ? { value: values } : { problem: `Choose ${wanted}.` };
    },
  };
}

/** Harmless labels, each of which stands for one value. */
function labelled(choices: readonly Choice[]): Choice[] {
  const labels = choices.map(({ label, value }) => plainLine(label, 80) || plainLine(value, 80));
  return choices.map(({ value }, at) => {
    const label = labels[at]!;
    const isTwice = labels.indexOf(label) !== at || label === "";
    return { value, label: isTwice ? `${label} (${at + 1})` : label };
  });
}

/** A value as the user sees it. */
export function shownValue({ kind, choices }: FormField, value: FieldValue | undefined): string {
  if (value === undefined) return "–";
  const labelOf = (each: unknown) => choices.find((choice) => choice.value === each)?.label ?? String(each);
  if (kind === "boolean") return value === true ? "yes" : "no";
  if (kind === "choices") return (value as string[]).map(labelOf).join(", ") || "none";
  return plainLine(kind === "choice" ? labelOf(value) : String(value), 80) || "(empty)";
}
