import { readFileSync } from "node:fs";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { Provider } from "./provider.ts";
import type { Scenario } from "./scenario.ts";
import { scriptedProvider } from "./scripted.ts";

/**
 * Reads a scenario file.
 * @throws BonsaiError `scenario_unreadable`, `scenario_invalid`, naming file, key, what was found and what is allowed.
 */
export function readScenario(path: string): Scenario {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** The model of a scenario file: `scripted/PATH`, with the sizes and prices that the file tells. */
export function scenarioModel(path: string): CatalogueModel {
  const { contextWindow, maxOutputTokens, usdPerMillionTokens } = readScenario(path);
  return {
    provider: "scripted",
    id: path,
    name: path,
    api: "scripted",
    baseUrl: path,
    input: ["text", "image"],
    reasoning: true,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens,
  };
}

/** Plays the scenario file that `path` names, or the one in each model's `baseUrl`; a file is read when it is first needed. */
export function scenarioProvider(path?: string): Provider {
  const parts = new Map<string, Provider>();
  return {
    stream: (call, answer) => {
      const file = path ?? call.model.baseUrl;
      const provider = parts.get(file) ?? scriptedProvider(readScenario(file));
      parts.set(file, provider);
      return provider.stream(call, answer);
    },
  };
}
