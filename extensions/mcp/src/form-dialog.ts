import type { ExtensionUI } from "@bonsai-agent/extension";
import type { ElicitRequestFormParams, ElicitResult } from "@modelcontextprotocol/client";
import { plainLine, plainPart } from "./foreign-text.ts";
import { type FieldValue, type FormField, formFields, shownValue } from "./form-fields.ts";

export interface FormRequest {
  ui: ExtensionUI;
  /** The server, for the title of each dialog. */
  asker: string;
  params: ElicitRequestFormParams;
  /** Aborted when the server stops waiting. */
  signal: AbortSignal;
  /** The user wants no more questions of this server. */
  onMute: () => void;
}

/** Maximum of a form for a terminal. */
const MAX_FIELDS = 50;

/** Refusals of every question of a server. */
export const refusals = {
  decline: "Decline",
  mute: "Decline, and block this server's questions for this session",
} as const;

const actions = { fill: "Fill in the form", send: "Send" } as const;

/** Shows a form as one list. Each field can be changed until it is sent. Leaving the list cancels. */
export async function fillForm(request: FormRequest): Promise<ElicitResult> {
  const fields = formFields(request.params.requestedSchema);
  if (fields.length > MAX_FIELDS) return { action: "decline" };
  const form = new FormDialog(request, fields);
  for (;;) {
    const chosen = await form.chooseStep();
    if (chosen === undefined) return { action: "cancel" };
    if (chosen === refusals.mute) request.onMute();
    if (chosen === refusals.mute || chosen === refusals.decline) return { action: "decline" };
    if (chosen === actions.send) return { action: "accept", content: Object.fromEntries(form.values) };
    if (chosen === actions.fill) await form.fillAll();
    else await form.fill(chosen);
  }
}

type Step = (typeof actions)[keyof typeof actions] | (typeof refusals)[keyof typeof refusals] | FormField;

const NO_VALUE = "(no value)";

/** One form under way: its values, and the dialogs that change them. */
class FormDialog {
  readonly values = new Map<string, FieldValue>();
  readonly #request: FormRequest;
  readonly #fields: readonly FormField[];

  constructor(request: FormRequest, fields: readonly FormField[]) {
    this.#request = request;
    this.#fields = fields;
    for (const { key, default: usual } of fields) if (usual !== undefined) this.values.set(key, usual);
  }

  /** Undefined if the user leaves the form. */
  async chooseStep(): Promise<Step | undefined> {
    const { ui, asker, params, signal } = this.#request;
    const fields = this.#fields;
    const isWhole = fields.every(({ key, isRequired }) => !isRequired || this.values.has(key));
    const rows = new Map(fields.map((field) => [this.#row(field), field]));
    const options = [
      ...(isWhole ? [actions.send] : []),
      ...(fields.length > 0 ? [actions.fill] : []),
      refusals.decline,
      ...rows.keys(),
      refusals.mute,
    ];
    const title = `${asker} asks:\n${plainPart(params.message, 1_000)}`;
    const chosen = await ui.select(title, options, { signal });
    if (chosen === undefined || signal.aborted) return undefined;
    return rows.get(chosen) ?? (chosen as Step);
  }

  #row(field: FormField): string {
    const { key, label, isRequired } = field;
    return `  ${label}${isRequired ? " *" : ""}: ${shownValue(field, this.values.get(key))}`;
  }

  /** Asks for one field after the other. Leaving one leads back to the list. */
  async fillAll(): Promise<void> {
    for (const field of this.#fields) if (!(await this.fill(field))) return;
  }

  /** @returns false if the user left the field unchanged */
  fill(field: FormField): Promise<boolean> {
    if (field.kind === "typed") return this.#fillTyped(field);
    return field.kind === "choice" ? this.#fillChoice(field) : this.#fillChoices(field);
  }

  async #fillChoice(field: FormField): Promise<boolean> {
    const byLabel = new Map(field.choices.map(({ label, value }) => [` ${label}`, value]));
    const options = [...byLabel.keys(), ...(field.isRequired ? [] : [NO_VALUE])];
    const chosen = await this.#select(field, options);
    if (chosen === undefined) return false;
    const value = byLabel.get(chosen);
    if (value !== undefined) return this.#set(field, [value]);
    this.values.delete(field.key);
    return true;
  }

  async #fillChoices(field: FormField): Promise<boolean> {
    const chosen = new Set<FieldValue>((this.values.get(field.key) as string[] | undefined) ?? []);
    let problem = "";
    for (;;) {
      const byLabel = new Map(
        field.choices.map(({ label, value }) => [`[${chosen.has(value) ? "x" : " "}] ${label}`, value]),
      );
      const picked = await this.#select(field, ["Done", ...byLabel.keys()], problem);
      if (picked === undefined) return false;
      const toggled = byLabel.get(picked);
      problem = `Choose ${field.wanted}.`;
      if (toggled !== undefined) {
        problem = "";
        if (!chosen.delete(toggled)) chosen.add(toggled);
      } else if (this.#set(field, [...chosen])) return true;
    }
  }

  async #fillTyped(field: FormField): Promise<boolean> {
    const { ui, signal } = this.#request;
    const current = this.values.get(field.key);
    const placeholder =
      current === undefined ? field.wanted : `Press Enter to keep: ${shownValue(field, current)}`;
    let problem = "";
    for (;;) {
      const typed = await ui.input(this.#title(field, problem), placeholder, { signal });
      if (typed === undefined) return false;
      if (typed === "" && (current !== undefined || !field.isRequired)) return true;
      if (this.#set(field, typed)) return true;
      problem = `Invalid: ${plainLine(typed, 40)}. Enter ${field.wanted}.`;
    }
  }

  #set(field: FormField, given: string | readonly FieldValue[]): boolean {
    const value = field.read(given);
    if (value !== undefined) this.values.set(field.key, value);
    return value !== undefined;
  }

  #select(field: FormField, options: string[], problem = ""): Promise<string | undefined> {
    const { ui, signal } = this.#request;
    return ui.select(this.#title(field, problem), options, { signal });
  }

  #title(field: FormField, problem: string): string {
    const { key, kind, label, isRequired, description, wanted } = field;
    const value = this.values.get(key);
    const verb = kind === "choices" ? "Choose" : "Enter";
    return [
      `${this.#request.asker}: ${label}${isRequired ? " *" : ""}`,
      description,
      value === undefined ? "" : `Now: ${shownValue(field, value)}`,
      problem || (wanted && `${verb} ${wanted}.`),
    ]
      .filter((line) => line !== "")
      .join("\n");
  }
}
