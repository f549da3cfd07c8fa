import type { CatalogueModel, ProviderApi } from "@bonsai-agent/models";

/** A model as the benches use it: free, without thinking. */
export function benchModel(fields: {
  contextWindow: number;
  api?: ProviderApi;
  baseUrl?: string;
}): CatalogueModel {
  const { contextWindow, api = "scripted", baseUrl = "" } = fields;
  return {
    provider: "bench",
    id: "actor",
    name: "Actor",
    api,
    baseUrl,
    input: ["text"],
    reasoning: false,
    contextWindow,
    maxOutputTokens: 2_000,
  };
}
