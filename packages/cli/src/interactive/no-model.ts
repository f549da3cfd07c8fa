import type { CatalogueModel } from "@bonsai-agent/models";

/** Stands for the model until there is one: nothing is ever sent to it. */
export const noModel: CatalogueModel = {
  provider: "none",
  id: "none",
  name: "No model",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 200_000,
  maxOutputTokens: 8_000,
  usdPerMillionTokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

export function isNoModel({ provider, id }: Pick<CatalogueModel, "provider" | "id">): boolean {
  return provider === noModel.provider && id === noModel.id;
}
