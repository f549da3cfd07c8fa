import { summarySections } from "@bonsai-agent/compaction";
import {
  type Catalogue,
  type CatalogueModel,
  fileKeys,
  loadCatalogue,
  ModelClient,
  type ProviderCall,
  type RequestPurpose,
  type ScenarioAnswer,
  scriptedProvider,
} from "@bonsai-agent/models";
import type { ExtensionModels } from "../host/extension-host.ts";

/** What the model says: a text, an answer with its calls, or what a function makes of the request. */
export type TestAnswer = string | ScenarioAnswer | ((request: ProviderCall) => string | ScenarioAnswer);

/** The answers to the requests of one purpose in order, or what answers all of them. */
export type TestAnswers = readonly TestAnswer[] | TestAnswer;

interface ScriptedModelsOptions {
  /** Where the models' own files would be. */
  home: string;
  /** Put into the catalogue, beside all that Bonsai knows. */
  models: readonly CatalogueModel[];
  answers: Partial<Record<RequestPurpose, TestAnswers>>;
  /** Each request is added to it as it goes out. */
  requests: ProviderCall[];
}

/** Models whose words are written down beforehand. */
export async function scriptedModels(options: ScriptedModelsOptions): Promise<ExtensionModels> {
  const { home, models, answers, requests } = options;
  const counts = new Map<RequestPurpose, number>();
  const provider = scriptedProvider((call) => {
    const { purpose } = call;
    const count = counts.get(purpose) ?? 0;
    counts.set(purpose, count + 1);
    requests.push(call);
    return answerTo(call, answers[purpose] ?? usual[purpose], count);
  });
  const catalogue = await loadCatalogue({ home, env: {} });
  addModels(catalogue, models);
  const keys = fileKeys({ home, env: {} });
  const providers = { scripted: async () => provider };
  return { catalogue, keys, client: new ModelClient({ keys, providers, retry: { maxRetries: 0 } }) };
}

/** A summary with every section that any kind of summary is asked for. */
const usualSummary = [...new Set(Object.values(summarySections).flat())]
  .map((heading) => `## ${heading}\n${heading} as it stands.`)
  .join("\n\n");

const usual: Partial<Record<RequestPurpose, TestAnswers>> = { summary: usualSummary, title: "A test" };

function answerTo(call: ProviderCall, answers: TestAnswers = [], count: number): ScenarioAnswer {
  const answer = Array.isArray(answers) ? (answers as readonly TestAnswer[])[count] : (answers as TestAnswer);
  if (answer === undefined)
    throw new Error(`No answer ${count + 1} to a request for a ${call.purpose} is written down.`);
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
