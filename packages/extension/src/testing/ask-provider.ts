import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AssistantMessage } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  KeyFile,
  loadCatalogue,
  ModelClient,
  type ModelFailure,
  type ModelNotice,
  type ModelRequest,
  type StreamEvent,
  usableModels,
} from "@bonsai-agent/models";
import type { ExtensionAPI, ExtensionFactory } from "../api/extension-api.ts";
import { registerProvider } from "../host/extension-providers.ts";

/** A request; `model` as `provider/id`. */
export type ProviderQuestion = Partial<Omit<ModelRequest, "model">> & {
  model: string;
  /** Retries after a failure, without waits. Default 0. */
  maxRetries?: number;
};

export interface ProviderOutcome {
  message: AssistantMessage;
  /** Absent after success or an abort. */
  failure?: ModelFailure;
  events: readonly StreamEvent[];
  notices: readonly ModelNotice[];
}

/** Asks a model of an extension's provider as Bonsai does, with its checks, error classes and counts. */
export async function askProvider(
  extension: ExtensionFactory,
  question: ProviderQuestion,
): Promise<ProviderOutcome> {
  const { model: reference, maxRetries = 0, ...request } = question;
  return withProvider(extension, maxRetries, async ({ catalogue, client }) => {
    const events: StreamEvent[] = [];
    const notices: ModelNotice[] = [];
    const model = await catalogue.find(reference);
    const stream = client.stream({
      purpose: "turn",
      systemPrompt: "",
      tools: [],
      messages: [{ role: "user", content: "Hello", timestamp: 0 }],
      onNotice: (notice) => notices.push(notice),
      ...request,
      model,
    });
    for await (const event of stream) events.push(event);
    const last = events.at(-1)!;
    const failure = last.type === "error" ? last.failure : undefined;
    return { message: last.message, events, notices, ...(failure && { failure }) };
  });
}

/** The models that an extension's providers offer. */
export async function offeredModels(extension: ExtensionFactory): Promise<readonly CatalogueModel[]> {
  return withProvider(extension, 0, async ({ catalogue, keys }, names) => {
    const providers = catalogue.providers.filter(({ provider }) => names.has(provider));
    const usable = await usableModels({ catalogue: { providers, models: catalogue.models }, keys });
    return usable.map(({ model }) => model);
  });
}

async function withProvider<Result>(
  extension: ExtensionFactory,
  maxRetries: number,
  use: (models: Awaited<ReturnType<typeof modelsIn>>, names: ReadonlySet<string>) => Promise<Result>,
): Promise<Result> {
  const home = mkdtempSync(join(tmpdir(), "bonsai-test-provider-"));
  try {
    const models = await modelsIn(home, maxRetries);
    const names = new Set<string>();
    const api: Pick<ExtensionAPI, "registerProvider"> = {
      registerProvider: (name, options) => {
        names.add(name);
        return registerProvider(
          () => models,
          name,
          options,
          (error) => {
            throw error;
          },
        );
      },
    };
    await extension(api as ExtensionAPI);
    return await use(models, names);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function modelsIn(home: string, maxRetries: number) {
  const keys = new KeyFile({ home, env: process.env });
  const client = new ModelClient({ keys, retry: { maxRetries }, sleep: async () => {} });
  return { keys, client, catalogue: await loadCatalogue({ home, env: process.env }) };
}
