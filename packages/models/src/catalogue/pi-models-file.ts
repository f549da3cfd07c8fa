import { z } from "zod";
import { parseJson, textFile } from "../json-file.ts";
import { type Effort, effortWords, type ModelCompat, type ProviderApi } from "../model.ts";
import { configValue, variableOf } from "./config-value.ts";

const price = z.number().nonnegative();
const tokens = z.int().positive();
const prices = z.looseObject({ input: price, output: price, cacheRead: price, cacheWrite: price });
const headers = z.record(z.string(), z.string()).optional();
const compat = z
  .looseObject({
    thinkingFormat: z.string().optional(),
    supportsReasoningEffort: z.boolean().optional(),
    supportsUsageInStreaming: z.boolean().optional(),
    maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
    requiresReasoningContentOnAssistantMessages: z.boolean().optional(),
  })
  .optional();

const modelFields = {
  name: z.string().min(1).optional(),
  reasoning: z.boolean().optional(),
  thinkingLevelMap: z.record(z.string(), z.string().nullable()).optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  contextWindow: tokens.optional(),
  maxTokens: tokens.optional(),
  headers,
  compat,
};

const modelSchema = z.looseObject({
  ...modelFields,
  id: z.string().min(1),
  api: z.string().min(1).optional(),
  baseUrl: z.string().min(1).optional(),
  cost: prices.partial({ cacheRead: true, cacheWrite: true }).optional(),
});

const providerSchema = z.looseObject({
  baseUrl: z.string().min(1).optional(),
  apiKey: z.string().min(1).optional(),
  api: z.string().min(1).optional(),
  headers,
  authHeader: z.boolean().optional(),
  compat,
  models: z.array(modelSchema).optional(),
  modelOverrides: z
    .record(z.string(), z.looseObject({ ...modelFields, cost: prices.partial().optional() }))
    .optional(),
});

/** A `models.json` of pi. Allows fields that Bonsai does not use. */
export const piModelsSchema = z.looseObject({
  providers: z.record(z.string().regex(/^[^\s/]+$/, "a name without spaces and slashes"), providerSchema),
});

type PiProvider = z.infer<typeof providerSchema>;
type PiModel = Partial<z.infer<typeof modelSchema>>;

type OwnCompat = Omit<ModelCompat, "efforts"> & { efforts?: Effort[] };

type Protocol = Exclude<ProviderApi, "extension">;

/** The protocols of pi that Bonsai speaks. */
const APIS: Readonly<Record<string, Protocol>> = {
  "openai-completions": "openai-chat",
  "openai-responses": "openai-responses",
  "anthropic-messages": "anthropic-messages",
};

/** Pi's ways of thinking in Bonsai's words. */
const THINKING: Readonly<Record<string, ModelCompat["thinking"]>> = {
  openai: "reasoning_effort",
  openrouter: "reasoning",
  deepseek: "switch",
  zai: "switch",
};

/** The values of `apiKey` in a `models.json` of pi, by provider; none if the file cannot be read. */
export function piKeys(file: string): ReadonlyMap<string, string> {
  try {
    const { data } = piModelsSchema.safeParse(parseJson(textFile(file) ?? ""));
    return new Map(
      Object.entries(data?.providers ?? {}).flatMap(([provider, { apiKey }]) =>
        apiKey === undefined || variableOf(apiKey) !== undefined ? [] : [[provider, apiKey]],
      ),
    );
  } catch {
    return new Map();
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Source {
  file: string;
  env: Environment;
}

/** The providers of a `models.json` of pi in Bonsai's form. The keys stay in the file: see `fileKeys`. */
export function piProviders({ providers }: z.infer<typeof piModelsSchema>, source: Source) {
  return Object.entries(providers).map(([provider, given]) => ofProvider(provider, given, source));
}

function ofProvider(provider: string, given: PiProvider, { file, env }: Source) {
  const { baseUrl, apiKey = "", authHeader, models = [], modelOverrides = {} } = given;
  const apiKeyEnv = variableOf(apiKey);
  const place = `providers.${provider}`;
  const reached = { ...protocol(given.api, `${file}: ${place}`), ...sentHeaders(given.headers, env) };
  return {
    provider,
    place,
    // A provider without an `api` is one of pi's own.
    mayBeUnknown: given.api === undefined && baseUrl === undefined,
    ...reached,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKeyEnv !== undefined && { apiKeyEnv }),
    ...(authHeader === true && { authHeader }),
    ...ownCompat(given),
    models: [
      ...models.map(({ id, api, baseUrl: ownUrl, ...model }, at) => ({
        ...ofModel(id, model),
        reached: {
          ...protocol(api, `${file}: ${place}.models[${at}]`),
          ...sentHeaders(model.headers, env, reached.headers),
          ...(ownUrl !== undefined && { baseUrl: ownUrl.replace(/\/+$/, "") }),
        },
      })),
      ...Object.entries(modelOverrides).map(([id, model]) => ({
        ...ofModel(id, model as PiModel),
        reached: sentHeaders(model.headers, env, reached.headers),
        isKnownOnly: true,
      })),
    ],
  };
}

function ofModel(id: string, { name, reasoning, input, contextWindow, maxTokens, cost, ...rest }: PiModel) {
  const fields = { name, reasoning, input, contextWindow, maxOutputTokens: maxTokens };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const { input: sent, output, cacheRead, cacheWrite } = cost ?? {};
  const cached = Object.entries({ cacheRead, cacheWrite }).filter(([, value]) => value !== undefined);
  return {
    id,
    ...Object.fromEntries(given),
    ...(sent !== undefined &&
      output !== undefined && {
        usdPerMillionTokens: { input: sent, output, ...Object.fromEntries(cached) },
      }),
    ...ownCompat(rest),
  };
}

function protocol(api: string | undefined, place: string): { api?: Protocol; missing?: string } {
  if (api === undefined) return {};
  const known = Object.hasOwn(APIS, api) ? APIS[api] : undefined;
  if (known !== undefined) return { api: known };
  const allowed = Object.keys(APIS).join(", ");
  return { missing: `${place}.api is ${JSON.stringify(api)}, but Bonsai only speaks ${allowed}.` };
}

function sentHeaders(
  given: Readonly<Record<string, string>> | undefined,
  env: Environment,
  shared: Readonly<Record<string, string>> = {},
): { headers?: Record<string, string> } {
  if (given === undefined) return {};
  const values = Object.entries(given).flatMap(([name, value]) => {
    const text = configValue(value, env);
    return text === undefined ? [] : [[name, text] as const];
  });
  return { headers: { ...shared, ...Object.fromEntries(values) } };
}

function ownCompat({ compat: given, thinkingLevelMap }: Pick<PiModel, "compat" | "thinkingLevelMap">): {
  compat?: OwnCompat;
} {
  const { thinkingFormat, maxTokensField } = given ?? {};
  const isEffort = (word: string | null): word is Effort => effortWords.some((each) => each === word);
  const efforts = Object.values(thinkingLevelMap ?? {}).filter(isEffort);
  const thinking =
    thinkingFormat === undefined && given?.supportsReasoningEffort === false
      ? ("none" as const)
      : THINKING[thinkingFormat ?? ""];
  const compat: OwnCompat = {
    ...(thinking !== undefined && { thinking }),
    ...(efforts.length > 0 && { efforts: [...new Set(efforts)] }),
    ...(maxTokensField !== undefined && { maxTokensField }),
    ...(given?.supportsUsageInStreaming === false && { streamOptions: false }),
    ...(given?.requiresReasoningContentOnAssistantMessages === true && {
      thinkingBack: "reasoning_content" as const,
    }),
  };
  return Object.keys(compat).length === 0 ? {} : { compat };
}
