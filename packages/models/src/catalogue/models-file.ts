import { dirname, join, resolve } from "node:path";
import { BonsaiError, usualCacheRules } from "@bonsai-agent/messages";
import { exceedsJsonDepth, jsonProblem, MAX_LEVELS, shownValue } from "@bonsai-agent/messages/host";
import { z } from "zod";
import { parseJson, textFile } from "../json-file.ts";
import {
  type CatalogueModel,
  canThink,
  effortWords,
  type ModelCompat,
  type ProviderApi,
  type ProviderConfig,
  thinkingStyles,
} from "../model.ts";
import { withThinkingField } from "../thinking.ts";
import { type CatalogueData, withCompat } from "./catalogue-data.ts";
import { piModelsSchema, piProviders } from "./pi-models-file.ts";

const pricePerMillion = z.number().nonnegative();
const tokens = z.int().positive();

const compatSchema = z.strictObject({
  thinking: z.enum([...thinkingStyles["anthropic-messages"], ...thinkingStyles["openai-chat"]]).optional(),
  efforts: z.array(z.enum(effortWords)).min(1).optional(),
  thinkingBack: z.enum(["reasoning_content", "reasoning_details", "none"]).optional(),
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  streamOptions: z.boolean().optional(),
});

const modelSchema = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1).optional(),
  contextWindow: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  reasoning: z.boolean().optional(),
  usdPerMillionTokens: z
    .strictObject({
      input: pricePerMillion,
      output: pricePerMillion,
      cacheRead: pricePerMillion.optional(),
      cacheWrite: pricePerMillion.optional(),
    })
    .optional(),
  cacheRules: z
    .strictObject({
      keptMs: z.number().int().min(0).default(usualCacheRules.keptMs),
      minimumTokens: tokens.default(usualCacheRules.minimumTokens),
    })
    .optional(),
  compat: compatSchema.optional(),
});

const providerSchema = z.strictObject({
  provider: z.string().regex(/^[^\s/]+$/, "a name without spaces and slashes"),
  api: z.enum(["anthropic-messages", "openai-responses", "openai-chat", "scripted"]).optional(),
  baseUrl: z.string().min(1).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, "the name of an environment variable, not the key itself")
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  compat: compatSchema.optional(),
  models: z.array(modelSchema).optional(),
});

const catalogueSchema = z.strictObject({
  $schema: z.string().optional(),
  asOf: z.string().optional(),
  note: z.string().optional(),
  providers: z.array(providerSchema),
});

/** A provider of `models.json`. */
type ProviderOverride = Omit<z.infer<typeof providerSchema>, "models"> &
  Pick<Partial<ProviderConfig>, "authHeader" | "missing"> & {
    /** The place in the file, for errors. */
    place?: string;
    /** Ignores the provider if Bonsai does not know it. */
    mayBeUnknown?: boolean;
    models?: readonly ModelOverride[] | undefined;
  };

/** A model of `models.json`. Missing fields keep their built-in values. */
type ModelOverride = z.infer<typeof modelSchema> & {
  /** Differences from its provider. */
  reached?: Partial<ProviderConfig>;
  /** Changes a known model only. */
  isKnownOnly?: boolean;
};

interface Overrides {
  /** Paths of scenario files are relative to its folder. */
  file: string;
  providers: readonly ProviderOverride[];
}

/**
 * Reads `<home>/models.json`. A missing file is empty.
 * @throws BonsaiError `models_unreadable`, `models_invalid`
 */
export function catalogueOverrides(
  home: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Overrides {
  const file = join(home, "models.json");
  let value: unknown;
  try {
    const text = textFile(file);
    if (text === undefined) return { file, providers: [] };
    value = parseJson(text);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  if (exceedsJsonDepth(value))
    throw unreadable(file, new SyntaxError(`it has more than ${MAX_LEVELS} nested levels`));
  if (isOfPi(value)) {
    const { data, error } = piModelsSchema.safeParse(value);
    if (data === undefined) throw invalid({ error, input: value, schema: piModelsSchema, file });
    return { file, providers: piProviders(data, { file, env }) };
  }
  return { file, providers: validated(value, file) };
}

/** In pi's `models.json`, the providers are an object. */
function isOfPi(value: unknown): boolean {
  const { providers } = (value ?? {}) as { providers?: unknown };
  return typeof providers === "object" && providers !== null && !Array.isArray(providers);
}

/** Removes the parser's quotation from its message: it can contain a key. */
function unreadable(file: string, cause: unknown): BonsaiError {
  const reason = (cause as Error).message.replace(/, (?:"|\.\.\.).* is not valid JSON$/s, "");
  return new BonsaiError({
    code: "models_unreadable",
    message: `Cannot parse ${file}: ${reason}.`,
    hint: "Fix the file, or move it away to use only the built-in models.",
    ...(!(cause instanceof SyntaxError) && { cause }),
  });
}

function validated(input: unknown, file: string): ProviderOverride[] {
  const parsed = catalogueSchema.safeParse(input);
  if (parsed.success) return parsed.data.providers;
  throw invalid({ error: parsed.error, input, schema: catalogueSchema, file });
}

function invalid(problem: Parameters<typeof jsonProblem>[0]): BonsaiError {
  return new BonsaiError({
    code: "models_invalid",
    message: jsonProblem(problem),
    hint: 'Example: {"providers": [{"provider": "box", "baseUrl": "http://127.0.0.1:8000/v1", "models": [{"id": "coder", "contextWindow": 32768}]}]}',
    cause: problem.error,
  });
}

/**
 * Adds and changes the providers and models of `models.json`.
 * @throws BonsaiError `models_invalid` for a new provider without an address, or an invalid address
 */
export function mergedCatalogue(
  base: CatalogueData,
  { file, providers: overrides }: Overrides,
): CatalogueData {
  const providers = new Map(base.providers.map((provider) => [provider.provider, provider]));
  const models = new Map(base.models.map((model) => [keyOf(model), model]));
  const reached = new Map<string, Partial<ProviderConfig>>();
  for (const [at, override] of overrides.entries()) {
    if (override.mayBeUnknown === true && !providers.has(override.provider)) continue;
    const place = override.place ?? `providers[${at}]`;
    const provider = mergedProvider(override, providers.get(override.provider), { file, place });
    refuseForeignStyle(override.compat, provider.api, `${file}: ${place}`);
    providers.set(provider.provider, provider);
    for (const [modelAt, model] of (override.models ?? []).entries()) {
      refuseForeignStyle(model.compat, provider.api, `${file}: ${place}.models[${modelAt}]`);
      const key = keyOf({ ...provider, id: model.id });
      if (model.isKnownOnly === true && !models.has(key)) continue;
      const { isKnownOnly: _, reached: own, ...given } = model;
      models.set(key, mergedModel(given, provider, models.get(key)));
      if (own !== undefined) reached.set(key, own);
    }
  }
  return {
    asOf: base.asOf,
    providers: [...providers.values()],
    models: withProviderFields(models.values(), providers, base.models).map((model) => ({
      ...model,
      ...reached.get(keyOf(model)),
    })),
  };
}

/** Applies the changes of providers to their models. Built-in models keep their way of thinking. */
function withProviderFields(
  models: Iterable<CatalogueModel>,
  providers: ReadonlyMap<string, ProviderConfig>,
  builtIn: readonly CatalogueModel[],
): CatalogueModel[] {
  const builtInThinkers = new Set(builtIn.filter(({ reasoning }) => reasoning).map(keyOf));
  const withThinking = (model: CatalogueModel) =>
    builtInThinkers.has(keyOf(model)) ? model : withThinkingField(model);
  const byProvider = Map.groupBy(models, ({ provider }) => provider);
  return [...providers.values()].flatMap((provider) =>
    (byProvider.get(provider.provider) ?? []).map((model) =>
      withThinking({ ...model, ...provider, ...withCompat(provider.compat, model.compat) }),
    ),
  );
}

/** Refuses a way of thinking of another protocol, which would be ignored. */
function refuseForeignStyle(compat: ModelCompat | undefined, api: ProviderApi, place: string): void {
  const allowed: readonly string[] =
    api in thinkingStyles ? thinkingStyles[api as keyof typeof thinkingStyles] : [];
  const thinking = compat?.thinking;
  if (thinking === undefined || allowed.includes(thinking)) return;
  throw new BonsaiError({
    code: "models_invalid",
    message: `${place}.compat.thinking is ${JSON.stringify(thinking)}, but ${api} ${allowed.length === 0 ? "allows no value" : `only allows ${allowed.map((style) => JSON.stringify(style)).join(", ")}`}.`,
    hint: "Change the value, or remove it to use the default of the model or server.",
  });
}

function keyOf({ provider, id }: { provider: string; id: string }): string {
  return `${provider}/${id}`;
}

function mergedProvider(
  override: ProviderOverride,
  below: ProviderConfig | undefined,
  { file, place }: { file: string; place: string },
): ProviderConfig {
  const { models: _models, place: _place, mayBeUnknown: _may, ...given } = override;
  const merged = { api: "openai-chat" as const, ...below, ...given };
  const { api, baseUrl } = merged;
  if (baseUrl === undefined || (api !== "scripted" && !isWebAddress(baseUrl))) {
    const allowed =
      api === "scripted" ? "the path of a scenario file" : "an http or https address without a user name";
    throw new BonsaiError({
      code: "models_invalid",
      message: `${file}: ${place}.baseUrl is ${shownValue(baseUrl)}, but must be ${allowed}.`,
      hint: `Set baseUrl to the address of ${override.provider}, for example "http://127.0.0.1:8000/v1". Put credentials in apiKeyEnv or headers.`,
    });
  }
  if (api !== "scripted") return { ...merged, baseUrl: baseUrl.replace(/(?<!\/)\/+$/, "") };
  return given.baseUrl === undefined
    ? { ...merged, baseUrl }
    : { ...merged, baseUrl: resolve(dirname(file), given.baseUrl) };
}

function isWebAddress(text: string): boolean {
  const { protocol = "", username = "", password = "" } = URL.parse(text) ?? {};
  // fetch refuses an address with a user, and shows it in its error.
  return /^https?:$/.test(protocol) && username === "" && password === "";
}

function mergedModel(
  { usdPerMillionTokens: prices, ...given }: ModelOverride,
  provider: ProviderConfig,
  below: CatalogueModel | undefined,
): CatalogueModel {
  const { compat: shared, ...reached } = provider;
  const reasoning = canThink(withCompat(shared, given.compat).compat);
  const base = below ?? { name: given.id, input: ["text" as const], reasoning };
  return {
    ...base,
    ...given,
    ...reached,
    ...withCompat(below?.compat, given.compat),
    // Without a price for cached tokens, they cost the full one.
    ...(prices && { usdPerMillionTokens: { cacheRead: prices.input, cacheWrite: prices.input, ...prices } }),
  };
}
