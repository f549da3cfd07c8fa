import type { ProviderConfig } from "../catalogue-model.ts";
import { member } from "./server-json.ts";
import { ask, type ServerQuestion, size } from "./server-question.ts";

/** By its name, or the port that nobody else uses. */
export function isOllama({ provider, api, baseUrl }: ProviderConfig): boolean {
  return api === "openai-chat" && (provider === "ollama" || URL.parse(baseUrl)?.port === "11434");
}

/** Where a server's own dialect is spoken, beside the OpenAI-compatible one under `/v1`. */
export function serverRoot({ baseUrl }: ProviderConfig): string {
  return baseUrl.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "");
}

/** What the model runs with that is in memory; nothing for one that is not. */
export async function loadedWindow(question: ServerQuestion, modelId: string): Promise<number | undefined> {
  const models = member(await ask(question, `${serverRoot(question.provider)}/api/ps`), "models");
  if (!Array.isArray(models)) return undefined;
  const names: readonly unknown[] = [modelId, `${modelId}:latest`];
  const entry = models.find(
    (model) => names.includes(member(model, "name")) || names.includes(member(model, "model")),
  );
  return size(member(entry, "context_length"));
}

/** What the model will run with as far as it is configured, else what it was made for; Ollama may use less. */
export async function shownWindow(question: ServerQuestion, modelId: string): Promise<number | undefined> {
  const shown = await ask(question, `${serverRoot(question.provider)}/api/show`, { model: modelId });
  return configuredWindow(shown) ?? trainedWindow(shown);
}

/** `num_ctx` of the Modelfile, in a list of parameters as text. */
function configuredWindow(shown: unknown): number | undefined {
  const parameters = member(shown, "parameters");
  const match = typeof parameters === "string" ? /^num_ctx\s+(\d+)/m.exec(parameters) : null;
  return size(Number(match?.[1]));
}

/** What the model was made for, under a key like `qwen3.context_length`. */
function trainedWindow(shown: unknown): number | undefined {
  const info = member(shown, "model_info");
  if (typeof info !== "object" || info === null) return undefined;
  return size(Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]);
}
