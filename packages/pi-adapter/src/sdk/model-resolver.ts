import { type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import { scenarioModel } from "@bonsai-agent/models/scripted";
import { bonsaiModel, type PiModel, piModel } from "../models/model.ts";
import type { ModelRuntime } from "./model-runtime.ts";

interface CliModelOptions {
  cliProvider?: string;
  /** An id or `provider/id`, perhaps with `:level`. */
  cliModel?: string;
  cliThinking?: string;
  modelRuntime: ModelRuntime;
}

interface ResolvedModel {
  model: PiModel | undefined;
  thinkingLevel?: ThinkingLevel;
  warning: string | undefined;
  error: string | undefined;
}

/** The model that a user's flags name. */
export function resolveCliModel({
  cliProvider,
  cliModel,
  cliThinking,
  modelRuntime,
}: CliModelOptions): ResolvedModel {
  if (!cliModel) return { model: undefined, warning: undefined, error: undefined };
  const wanted =
    cliProvider && !cliModel.startsWith(`${cliProvider}/`) ? `${cliProvider}/${cliModel}` : cliModel;
  const { reference, thinking } = modelRuntime.models.catalogue.divide(wanted);
  const level = thinkingLevels.find((each) => each === cliThinking) ?? thinking;
  const found = modelOf(reference, modelRuntime);
  if (typeof found === "string") return { model: undefined, warning: undefined, error: found };
  return { model: found, ...(level && { thinkingLevel: level }), warning: undefined, error: undefined };
}

/** The model of a reference, or a sentence about why there is none. */
function modelOf(reference: string, runtime: ModelRuntime): PiModel | string {
  const all = runtime.getModels();
  const named = ({ provider, id }: PiModel) => `${provider}/${id}`.toLowerCase();
  const lower = reference.toLowerCase();
  const exact = all.filter((model) => named(model) === lower || model.id.toLowerCase() === lower);
  const near = all.filter(
    (model) => named(model).includes(lower) || model.name.toLowerCase().includes(lower),
  );
  const usable = (models: PiModel[]) => models.find((model) => runtime.hasConfiguredAuth(model)) ?? models[0];
  const found = usable(exact) ?? unlisted(reference, runtime) ?? usable(near);
  return (
    found ?? `Model "${reference}" not found. Use ctx.modelRegistry.getAvailable() for available models.`
  );
}

/** A scenario's model, or one that a known provider may have although the catalogue does not list it. */
function unlisted(reference: string, runtime: ModelRuntime): PiModel | undefined {
  const at = reference.indexOf("/");
  const [provider, id] = [reference.slice(0, at), reference.slice(at + 1)];
  if (at < 1 || id === "") return undefined;
  if (provider === "scripted") return piModel(scenarioModel(id));
  const config = runtime.models.catalogue.providers.find((each) => each.provider === provider);
  return config === undefined ? undefined : piModel(bonsaiModel({ ...config, id } as never));
}

interface ScopedModel {
  model: PiModel;
  thinkingLevel?: ThinkingLevel;
}

/** The available models that patterns name; `*` matches any text. */
export async function resolveModelScopeWithDiagnostics(
  patterns: readonly string[],
  modelRuntime: ModelRuntime,
): Promise<{ scopedModels: ScopedModel[]; diagnostics: object[] }> {
  const available = await modelRuntime.getAvailable();
  const scopedModels: ScopedModel[] = [];
  const diagnostics: object[] = [];
  for (const pattern of patterns) {
    const { reference, thinking } = modelRuntime.models.catalogue.divide(pattern);
    const isMeant = matcher(reference);
    const found = available.filter(({ provider, id }) => isMeant(`${provider}/${id}`) || isMeant(id));
    scopedModels.push(...found.map((model) => ({ model, ...(thinking && { thinkingLevel: thinking }) })));
    const message = `No models match pattern "${pattern}"`;
    if (found.length === 0) diagnostics.push({ type: "warning", code: "no-match", message, pattern });
  }
  return { scopedModels, diagnostics };
}

function matcher(pattern: string): (text: string) => boolean {
  const source = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const expression = new RegExp(`^${source.join(".*")}$`, "i");
  return (text) => expression.test(text);
}
