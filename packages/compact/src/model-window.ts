import type { Catalogue, CatalogueModel } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";

let catalogue: Promise<Catalogue> | undefined;

/**
 * The context window of a model in tokens, from Bonsai's catalogue and the user's `models.json`. Undefined for an unknown
 * model.
 * @param provider as the AI SDK names it: `openai.responses`
 */
export async function windowOf(provider: string, modelId: string): Promise<number | undefined> {
  catalogue ??= loadModels();
  const { models } = await catalogue;
  const [company = ""] = provider.toLowerCase().split(".");
  for (const name of [modelId, modelId.slice(modelId.lastIndexOf("/") + 1), `${company}/${modelId}`]) {
    const isNamed = ({ id }: CatalogueModel) => id.toLowerCase() === name.toLowerCase();
    const named = models.filter((model) => model.contextWindow && isNamed(model));
    const own = named.filter((model) => model.provider.toLowerCase() === company);
    const windows = (own.length > 0 ? own : named).map(({ contextWindow }) => contextWindow!);
    if (windows.length > 0) return Math.min(...windows);
  }
  return undefined;
}

async function loadModels(): Promise<Catalogue> {
  const { loadCatalogue } = await import("@bonsai-agent/models");
  return loadCatalogue({ home: bonsaiHome(), env: process.env, onUnusable: () => {} });
}
