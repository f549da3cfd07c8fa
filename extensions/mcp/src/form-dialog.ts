import type { ExtensionUI } from "@bonsai-agent/extension";
import type { ElicitRequestFormParams, ElicitResult } from "@modelcontextprotocol/client";
import { plainPart } from "./foreign-text.ts";
import { type FieldValue, type FormField, formFields, shownValue } from "./form-fields.ts";

export interface FormRequest {
  ui: ExtensionUI;
  /** Who asks, as every dialog says it. */
  asker: string;
  params: ElicitRequestFormParams;
  /** The server does not wait any longer. */
  signal: AbortSignal;
  /** The user wants no more questions of this server. */
  onMute: () => void;
}

/** More is no form for a terminal, and nobody would read it. */
const MAX_FIELDS = 50;

const actions = {
  fill: "Fill in the form",
  send: "Send",
  decline: "Decline",
  mute: "Decline, and block this server's questions for this session",
} as const;

/** A form with all its fields on one list: each can be changed until it is sent. Leaving the list is a cancel. */
export async function fillForm(request: FormRequest): Promise<ElicitResult> {
  const fields = formFields(request.params.requestedSchema);
  if (fields.length > MAX_FIELDS) return { action: "decline" };
  const values = new Map(
    fields.flatMap((field) => (field.default === undefined ? [] : [[field.key, field.default] as const])),
  );
  for (;;) {
    const chosen = await nextStep(request, fields, values);
    switch (chosen) {
      case undefined:
        return { action: "cancel" };
      case actions.mute:
        request.onMute();
        return { action: "decline" };
      case actions.decline:
        return { action: "decline" };
      case actions.send:
        return { action: "accept", content: Object.fromEntries(values) };
      case actions.fill:
        await fillAll(request, fields, values);
        break;
      default:
        await fill(request, chosen, values);
    }
  }
}

type Values = Map<string, FieldValue>;
type Step = (typeof actions)[keyof typeof actions] | FormField | undefined;

/** What the user does with the form as it stands. */
async function nextStep(
  { ui, asker, params, signal }: FormRequest,
  fields: readonly FormField[],
  values: Values,
): Promise<Step> {
  const isWhole = fields.every(({ key, isRequired }) => !isRequired || values.has(key));
  const isUntouched =
    fields.length > 0 && fields.every(({ key, default: usual }) => values.get(key) === usual);
  const rows = new Map<string, FormField>(
    fields.map((field) => [
      `  ${field.label}${field.isRequired ? " *" : ""}: ${shownValue(field, values.get(field.key))}`,
      field,
    ]),
  );
  const first = isWhole ? (isUntouched ? [actions.fill, actions.send] : [actions.send]) : [actions.fill];
  const title = `${asker} asks:\n${plainPart(params.message, 1_000)}`;
  const options = [...first, actions.decline, ...rows.keys(), actions.mute];
  const chosen = await ui.select(title, options, { signal });
  if (chosen === undefined || signal.aborted) return undefined;
  return rows.get(chosen) ?? (chosen as Step);
}

/** One field after the other; leaving one leads back to the list. */
async function fillAll(request: FormRequest, fields: readonly FormField[], values: Values): Promise<void> {
  for (const field of fields) if (!(await fill(request, field, values))) return;
}

/** @returns false where the user left the field as it was */
async function fill(request: FormRequest, field: FormField, values: Values): Promise<boolean> {
  switch (field.kind) {
    case "boolean":
      return fillOne(request, field, values, [
        { value: true, label: "yes" },
        { value: false, label: "no" },
      ]);
    case "choice":
      return fillOne(request, field, values, field.choices);
    case "choices":
      return fillSeveral(request, field, values);
    default:
      return fillTyped(request, field, values);
  }
}

const without = "(no value)";

async function fillOne(
  request: FormRequest,
  field: FormField,
  values: Values,
  choices: readonly { value: FieldValue; label: string }[],
): Promise<boolean> {
  const byLabel = new Map(choices.map(({ label, value }) => [` ${label}`, value]));
  const options = [...byLabel.keys(), ...(field.isRequired ? [] : [without])];
  const chosen = await request.ui.select(titleOf(request, field, values), options, {
    signal: request.signal,
  });
  if (chosen === undefined) return false;
  const value = byLabel.get(chosen);
  if (value === undefined) values.delete(field.key);
  else values.set(field.key, value);
  return true;
}

async function fillSeveral(request: FormRequest, field: FormField, values: Values): Promise<boolean> {
  const chosen = new Set((values.get(field.key) as string[] | undefined) ?? []);
  let problem = "";
  for (;;) {
    const byLabel = new Map(
      field.choices.map(({ label, value }) => [`[${chosen.has(value) ? "x" : " "}] ${label}`, value]),
    );
    const title = titleOf(request, field, values, problem);
    const picked = await request.ui.select(title, ["Done", ...byLabel.keys()], { signal: request.signal });
    if (picked === undefined) return false;
    const value = byLabel.get(picked);
    problem = "";
    if (value !== undefined) {
      if (!chosen.delete(value)) chosen.add(value);
      continue;
    }
    const read = field.read([...chosen]);
    if ("value" in read) {
      values.set(field.key, read.value);
      return true;
    }
    problem = read.problem;
  }
}

async function fillTyped(request: FormRequest, field: FormField, values: Values): Promise<boolean> {
  let problem = "";
  for (;;) {
    const standing = values.get(field.key);
    const placeholder =
      standing !== undefined ? `Press Enter to keep: ${shownValue(field, standing)}` : field.wanted;
    const title = titleOf(request, field, values, problem);
    const typed = await request.ui.input(title, placeholder, { signal: request.signal });
    if (typed === undefined) return false;
    if (typed === "" && (standing !== undefined || !field.isRequired)) return true;
    const read = field.read(typed);
    if ("value" in read) {
      values.set(field.key, read.value);
      return true;
    }
    problem = read.problem;
  }
}

function titleOf({ asker }: FormRequest, field: FormField, values: Values, problem = ""): string {
  const { kind, label, isRequired, description, wanted } = field;
  return [
    `${asker}: ${label}${isRequired ? " *" : ""}`,
    ...(description === "" ? [] : [description]),
    ...(values.has(field.key) ? [`Now: ${shownValue(field, values.get(field.key))}`] : []),
    ...(problem !== ""
      ? [problem]
      : wanted === ""
        ? []
        : [`${kind === "choices" ? "Choose" : "Enter"} ${wanted}.`]),
  ].join("\n");
}
