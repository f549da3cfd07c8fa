import { summarySections } from "@bonsai-agent/compaction";
import {
  type Catalogue,
  type CatalogueModel,
  KeyFile,
  loadCatalogue,
  ModelClient,
  type ProviderCall,
} from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import type { ExtensionUI } from "../api/extension-ui.ts";
import { plainTheme } from "../host/extension-drawing.ts";
import type { DrawnComponent, ExtensionModels, FrontEndUI } from "../host/extension-host.ts";

/** An answer of the model: a text, an answer with calls, or a function of the request. */
export type TestAnswer = string | ScenarioAnswer | ((request: ProviderCall) => string | ScenarioAnswer);

/** The answers to requests of one purpose, in order, or one for all. */
export type TestAnswers = readonly TestAnswer[] | TestAnswer;

interface ScriptedModelsOptions {
  /** The folder for the models' files. */
  home: string;
  /** Added to the catalogue. */
  models: readonly CatalogueModel[];
  answers: Partial<Record<ProviderCall["purpose"], TestAnswers>>;
  /** Receives each request. */
  requests: ProviderCall[];
}

/** Models with scripted answers. */
export async function scriptedModels(options: ScriptedModelsOptions): Promise<ExtensionModels> {
  const { home, models, answers, requests } = options;
  const counts = new Map<ProviderCall["purpose"], number>();
  const provider = scriptedProvider((call) => {
    const { purpose } = call;
    const count = counts.get(purpose) ?? 0;
    counts.set(purpose, count + 1);
    requests.push(call);
    return answerTo(call, answers[purpose] ?? usual[purpose], count);
  });
  const catalogue = await loadCatalogue({ home, env: {} });
  addModels(catalogue, models);
  const keys = new KeyFile({ home, env: {} });
  const providers = { scripted: async () => provider };
  return { catalogue, keys, client: new ModelClient({ keys, providers, retry: { maxRetries: 0 } }) };
}

/** A summary with every section of all kinds. */
const usualSummary = [...new Set(Object.values(summarySections).flat())]
  .map((heading) => `## ${heading}\nThe ${heading} section.`)
  .join("\n\n");

const usual: Partial<Record<ProviderCall["purpose"], TestAnswers>> = {
  summary: usualSummary,
  title: "A test",
};

function answerTo(call: ProviderCall, answers: TestAnswers = [], count: number): ScenarioAnswer {
  const answer = Array.isArray(answers) ? (answers as readonly TestAnswer[])[count] : (answers as TestAnswer);
  if (answer === undefined)
    throw new Error(`The script has no answer to ${call.purpose} request number ${count + 1}.`);
  const given = typeof answer === "function" ? answer(call) : answer;
  return typeof given === "string" ? { text: given } : given;
}

function addModels(catalogue: Catalogue, models: readonly CatalogueModel[]): void {
  for (const provider of new Set(models.map((model) => model.provider))) {
    const own = models.filter((model) => model.provider === provider);
    const { api, baseUrl } = own[0]!;
    catalogue.add({ provider, api, baseUrl, models: own });
  }
}

/** One answer for every question, one for each in order, or a function of the question. */
export type TestDialogAnswer<Asked extends (...args: never[]) => Promise<unknown>> =
  | Awaited<ReturnType<Asked>>
  | readonly Awaited<ReturnType<Asked>>[]
  | ((...args: Parameters<Asked>) => Awaited<ReturnType<Asked>> | ReturnType<Asked>);

/** The user's answers. The default is to cancel. */
export interface TestDialogAnswers {
  select?: TestDialogAnswer<ExtensionUI["select"]>;
  confirm?: TestDialogAnswer<ExtensionUI["confirm"]>;
  input?: TestDialogAnswer<ExtensionUI["input"]>;
  editor?: TestDialogAnswer<ExtensionUI["editor"]>;
  /**
   * The user's actions in a component of `custom`: `render` shows it, `handleInput` takes the name of an action, like
   * `tui.select.confirm`. It closes afterwards at the latest.
   */
  custom?: (component: DrawnComponent) => void | Promise<void>;
}

/** A call of `ctx.ui`. */
export interface UICall {
  method: keyof ExtensionUI;
  args: readonly unknown[];
}

type Dialog = Exclude<keyof TestDialogAnswers, "custom">;

/** The answers of a user who cancels. */
const left = { select: undefined, confirm: false, input: undefined, editor: undefined };

/** A user with scripted answers. Adds each call to `calls`. */
export function scriptedUi(answers: TestDialogAnswers, calls: UICall[]): FrontEndUI {
  let editorText = "";
  const record = (method: keyof ExtensionUI, args: readonly unknown[]) => {
    calls.push({ method, args });
  };
  const asked = (method: Dialog) => {
    let count = 0;
    return async (...args: never[]): Promise<never> => {
      record(method, args);
      const answer = answers[method] as unknown;
      if (typeof answer === "function") return answer(...args) as never;
      if (!Array.isArray(answer)) return (answer ?? left[method]) as never;
      if (count >= answer.length)
        throw new Error(`The script has no answer to call number ${count + 1} of ${method}.`);
      return answer[count++] as never;
    };
  };
  return {
    select: asked("select"),
    confirm: asked("confirm"),
    input: asked("input"),
    editor: asked("editor"),
    theme: plainTheme,
    custom: (make, options) =>
      new Promise((resolve, reject) => {
        record("custom", [options]);
        const using = async () => {
          const component = await make({ tui, keybindings, done: resolve });
          await answers.custom?.(component);
          component.dispose();
          resolve(undefined);
        };
        using().catch(reject);
      }),
    notify: (...args) => record("notify", args),
    setStatus: (...args) => record("setStatus", args),
    setWidget: (...args) => record("setWidget", args),
    setTitle: (...args) => record("setTitle", args),
    setEditorText(text) {
      record("setEditorText", [text]);
      editorText = text;
    },
    getEditorText: () => editorText,
  };
}

const tui = { requestRender() {}, terminal: { columns: 80, rows: 24 } };
/** Keys have the names of their actions. */
const keybindings = { matches: (data: string, action: string) => data === action, getKeys: () => [] };
