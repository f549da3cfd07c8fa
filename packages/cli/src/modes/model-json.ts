import type { CatalogueModel } from "@bonsai-agent/models";

/** A model as programs are told of it: its headers may hold secrets. */
export type ModelJson = Omit<CatalogueModel, "headers" | "apiKeyEnv" | "baseUrl">;

export function modelJson(model: CatalogueModel): ModelJson {
  const { headers: _headers, apiKeyEnv: _apiKeyEnv, baseUrl: _baseUrl, ...told } = model;
  return told;
}
