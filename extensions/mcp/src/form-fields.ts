import type { ElicitRequestFormParams, PrimitiveSchemaDefinition } from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";

export type FieldValue = string | number | boolean | string[];

/** `value` is for the server, `label` for the user. */
interface Choice {
  value: FieldValue;
  label: string;
}

/** A field of a form. All its texts are safe to show, on one line. */
export interface FormField {
  key: string;
  label: string;
  /** "" without one. */
  description: string;
  isRequired: boolean;
  /** `typed` is read from a text. */
  kind: "typed" | "choice" | "choices";
  choices: readonly Choice[];
  default: FieldValue | undefined;
  /** Allowed values in words; "" if every text is allowed. */
  wanted: string;
  /** Reads a typed text or chosen values. @returns the value, or undefined if it is not allowed */
  read(given: string | readonly FieldValue[]): FieldValue | undefined;
}

/** The fields of a form, in the server's order. */
export function formFields({
  properties,
  required = [],
}: ElicitRequestFormParams["requestedSchema"]): FormField[] {
  const entries = Object.entries(properties);
  const names = entries.map(([key, { title }]) => plainLine(title || key, 60) || "(no name)");
  return entries.map(([key, schema], at) => {
    const name = names[at]!;
    const isTwice = names.indexOf(name) !== names.lastIndexOf(name);
    return {
      key,
      label: isTwice ? `${name} (${plainLine(key, 40)})` : name,
      description: plainLine(schema.description ?? "", 300),
      isRequired: required.includes(key),
      choices: [],
      ...fieldOf(schema),
    };
  });
}

type Field = Pick<FormField, "kind" | "default" | "wanted" | "read"> & { choices?: readonly Choice[] };

function fieldOf(schema: PrimitiveSchemaDefinition): Field {
  switch (schema.type) {
    case "boolean":
      return choiceField(
        [
          { value: true, label: "yes" },
          { value: false, label: "no" },
        ],
        schema.default,
      );
    case "number":
    case "integer":
      return numberField(schema);
    case "array":
      return choicesField(schema);
    default: {
      if ("oneOf" in schema) return choiceField(titled(schema.oneOf), schema.default);
      if (!("enum" in schema)) return textField(schema);
      const names = "enumNames" in schema ? schema.enumNames : undefined;
      return choiceField(
        labelled(schema.enum.map((value, at) => ({ value, label: names?.[at] ?? value }))),
        schema.default,
      );
    }
  }
}

type NumberSchema = Extract<PrimitiveSchemaDefinition, { type: "number" | "integer" }>;

function numberField({ type, minimum, maximum, default: usual }: NumberSchema): Field {
  return {
    kind: "typed",
    default: usual,
    wanted: [type === "integer" ? "a whole number" : "a number", ...boundsInWords(minimum, maximum, "")].join(
      ", ",
    ),
    read(given) {
      const text = String(given).trim();
      const value = Number(text);
      const isNumber =
        text !== "" && (type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value));
      return isNumber && isWithin(value, minimum, maximum) ? value : undefined;
    },
  };
}

const formats: Readonly<Record<string, readonly [isValid: (text: string) => boolean, words: string]>> = {
  email: [(text) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text), "an email address"],
  uri: [(text) => URL.canParse(text), "a URL like https://example.com"],
  date: [(text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text), "a date like 2026-01-31"],
  "date-time": [
    (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) && isDate(text),
    "a time like 2026-01-31T12:00:00Z",
  ],
};

/** False for a day that does not exist, like the 31st of February. */
function isDate(text: string): boolean {
  const [year, month, day] = text.split(/\D/, 3).map(Number);
  return !Number.isNaN(Date.parse(text)) && new Date(Date.UTC(year!, month! - 1, day!)).getUTCDate() === day;
}

type TextSchema = Extract<
  Extract<PrimitiveSchemaDefinition, { type: "string" }>,
  { minLength?: number | undefined }
>;

function textField({ format, minLength, maxLength, default: usual }: TextSchema): Field {
  const [isValid, words] = (format && formats[format]) || [() => true, ""];
  const bounds = boundsInWords(minLength || undefined, maxLength, " characters");
  return {
    kind: "typed",
    default: usual,
    wanted: [...(words !== "" ? [words] : bounds.length > 0 ? ["text"] : []), ...bounds].join(", "),
    read(given) {
      const value = String(given);
      return isWithin([...value].length, minLength, maxLength) && isValid(value) ? value : undefined;
    },
  };
}

function choiceField(choices: readonly Choice[], usual: FieldValue | undefined): Field {
  const isChoice = choices.some(({ value }) => value === usual);
  return {
    kind: "choice",
    choices,
    default: isChoice ? usual : undefined,
    wanted: "",
    read: ([chosen]) => chosen,
  };
}

type ChoicesSchema = Extract<PrimitiveSchemaDefinition, { type: "array" }>;

function choicesField({ items, minItems, maxItems, default: usual }: ChoicesSchema): Field {
  const choices =
    "anyOf" in items ? titled(items.anyOf) : labelled(items.enum.map((value) => ({ value, label: value })));
  const values = choices.map(({ value }) => String(value));
  return {
    kind: "choices",
    choices,
    default: usual?.filter((value) => values.includes(value)),
    wanted: boundsInWords(minItems || undefined, maxItems, "").join(", "),
    read(given) {
      const chosen = values.filter((value) => given.includes(value));
      return isWithin(chosen.length, minItems, maxItems) ? chosen : undefined;
    },
  };
}

function isWithin(value: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): boolean {
  return value >= min && value <= max;
}

function boundsInWords(min: number | undefined, max: number | undefined, unit: string): string[] {
  return [
    ...(min === undefined ? [] : [`at least ${min}${unit}`]),
    ...(max === undefined ? [] : [`at most ${max}${unit}`]),
  ];
}

function titled(options: readonly { const: string; title: string }[]): Choice[] {
  return labelled(options.map(({ const: value, title }) => ({ value, label: title })));
}

/** Makes labels safe and different. */
function labelled(choices: readonly { value: string; label: string }[]): Choice[] {
  const labels = choices.map(({ label, value }) => plainLine(label, 80) || plainLine(value, 80));
  return choices.map(({ value }, at) => {
    const label = labels[at]!;
    const isTwice = labels.indexOf(label) !== at || label === "";
    return { value, label: isTwice ? `${label} (${at + 1})` : label };
  });
}

export function shownValue({ kind, choices }: FormField, value: FieldValue | undefined): string {
  if (value === undefined) return "–";
  if (kind === "typed") return plainLine(String(value), 80) || "(empty)";
  const labels = [value].flat().map((each) => choices.find((choice) => choice.value === each)?.label ?? "");
  return labels.join(", ") || "none";
}
