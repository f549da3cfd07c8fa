import { basename } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { jsonProblem } from "@bonsai-agent/messages/host";
import { textFile } from "../json-file.ts";
import type { CatalogueModel } from "../model.ts";
import type { Provider } from "../provider.ts";
import { type Scenario, scenarioSchema } from "./scenario.ts";
import { scriptedProvider } from "./scripted.ts";

/**
 * Reads a scenario file.
 * @throws BonsaiError `scenario_unreadable`; `scenario_invalid`, which names file, key, value and allowed values
 */
export function readScenario(path: string): Scenario {
  const input = parsed(path);
  const result = scenarioSchema.safeParse(input);
  if (result.success) return input as Scenario;
  throw new BonsaiError({
    /** A scenario file has an invalid value. The message names file, key and allowed values. */
    code: "scenario_invalid",
    message: jsonProblem({ error: result.error, input, schema: scenarioSchema, file: path }),
    hint: 'The smallest valid scenario is {"turn": [{"text": "Good day."}]}.',
    cause: result.error,
  });
}

function parsed(path: string): unknown {
  try {
    const text = textFile(path);
    if (text === undefined) throw new Error("the file does not exist");
    return JSON.parse(text);
  } catch (cause) {
    throw new BonsaiError({
      code: "scenario_unreadable",
      message: `Cannot read the scenario ${path}: ${(cause as Error).message}.`,
      hint: "Write scripted/PATH with the path of a scenario file, or set the path as baseUrl of a scripted provider in models.json.",
      cause,
    });
  }
}

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The model of a scenario file, with the sizes and prices in the file. Throws as `readScenario`. */
export function scenarioModel(path: string): CatalogueModel {
  const { contextWindow, maxOutputTokens, usdPerMillionTokens = FREE } = readScenario(path);
  return {
    provider: "scripted",
    id: path,
    name: basename(path),
    api: "scripted",
    baseUrl: path,
    input: ["text", "image"],
    reasoning: true,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens,
  };
}

/**
 * Plays the scenario file at `path`, or at each model's `baseUrl`. Reads a file at its first request and continues there
 * with the next. Throws as `readScenario`.
 */
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
