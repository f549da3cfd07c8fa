import type { CatalogueModel, ProviderApi, ProviderConfig } from "../catalogue-model.ts";

export interface CatalogueData {
  asOf: string;
  providers: readonly ProviderConfig[];
  models: readonly CatalogueModel[];
}

/** The catalogue that Bonsai comes with; its data are loaded when they are first asked for. */
export async function builtInCatalogue(): Promise<CatalogueData> {
  const { modelsAsOf, modelsData } = await import("./models-data.ts");
  const providers: ProviderConfig[] = [];
  const models: CatalogueModel[] = [];
  for (const line of modelsData.split("\n")) {
    if (line === "") continue;
    if (line.startsWith(" ")) models.push(modelOf(line, providers.at(-1)!));
    else providers.push(providerOf(line));
  }
  return { asOf: modelsAsOf, providers, models };
}

function providerOf(line: string): ProviderConfig {
  const [provider = "", api, baseUrl = "", apiKeyEnv] = line.split(" ");
  return { provider, api: api as ProviderApi, baseUrl, apiKeyEnv: apiKeyEnv === "-" ? undefined : apiKeyEnv };
}

function modelOf(line: string, provider: ProviderConfig): CatalogueModel {
  const [id = "", window, cap, kinds = "", input, output, cacheRead, cacheWrite, ...name] = line
    .trimStart()
    .split(" ");
  const abilities = kinds.split("+");
  return {
    ...provider,
    id,
    name: name.join(" "),
    contextWindow: Number(window),
    maxOutputTokens: Number(cap),
    input: abilities.includes("image") ? ["text", "image"] : ["text"],
    reasoning: abilities.includes("thinking"),
    usdPerMillionTokens: {
      input: Number(input),
      output: Number(output),
      cacheRead: Number(cacheRead),
      cacheWrite: Number(cacheWrite),
    },
  };
}
