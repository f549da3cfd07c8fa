import { dirname, join, resolve } from "node:path";
import { BonsaiError, usualCacheRules } from "@bonsai-agent/messages";
import { jsonDepthProblem, parseSettings } from "@bonsai-agent/messages/host";
import { modelCompactionSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import { parseJson, textFile } from "../json-file.ts";
import { compatSchema, type ModelCompat, type ProviderApi, thinkingStyles } from "../model.ts";
import { type CatalogueData, type FileProvider, withProvider } from "./catalogue-data.ts";
import { piModelsSchema, piProviders } from "./pi-models-file.ts";

const pricePerMillion = z.number().nonnegative();
const tokens = z.int().positive();

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
  compaction: modelCompactionSchema.optional(),
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

/**
 * Applies the changes of `<home>/models.json`. A missing file has none.
 * @throws BonsaiError `models_unreadable`; `models_invalid` also for a new provider without an address
 */
export function withModelsFile(
  base: CatalogueData,
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): CatalogueData {
  const file = join(home, "models.json");
  let data = base;
  for (const [at, change] of fileProviders(file, env).entries()) {
    const { place = `providers[${at}]`, mayBeUnknown = false, ...given } = change;
    const below = data.providers.find(({ provider }) => provider === given.provider);
    if (mayBeUnknown && below === undefined) continue;
    const { api = "openai-chat" } = { ...below, ...given };
    refuseForeignStyle(given.compat, api, `${file}: ${place}`);
    for (const [modelAt, model] of (given.models ?? []).entries())
      refuseForeignStyle(model.compat, model.api ?? api, `${file}: ${place}.models[${modelAt}]`);
    const baseUrl = checkedAddress(given.baseUrl ?? below?.baseUrl, {
      api,
      file,
      place,
      name: given.provider,
    });
    const isOwnPath = api === "scripted" && given.baseUrl !== undefined;
    data = withProvider(data, {
      ...given,
      api,
      baseUrl: isOwnPath ? resolve(dirname(file), baseUrl) : baseUrl,
      keepsModels: true,
    });
  }
  return data;
}

function fileProviders(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly FileProvider[] {
  let value: unknown;
  try {
    const text = textFile(file);
    if (text === undefined) return [];
    value = parseJson(text);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  const problem = jsonDepthProblem(value);
  if (problem !== undefined) throw unreadable(file, new SyntaxError(`it is ${problem}`));
  if (isOfPi(value)) return piProviders(valid(value, piModelsSchema, file), { file, env });
  const { providers } = valid(value, catalogueSchema, file);
  return providers.map(({ models, ...provider }) => ({
    ...provider,
    models: models?.map(({ usdPerMillionTokens: prices, ...model }) => ({
      ...model,
      // Without a price for cached tokens, they cost the full one.
      ...(prices && {
        usdPerMillionTokens: { cacheRead: prices.input, cacheWrite: prices.input, ...prices },
      }),
    })),
  })) as FileProvider[];
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

function valid<Schema extends z.ZodType>(input: unknown, schema: Schema, file: string): z.output<Schema> {
  const error = ({ message, cause }: { message: string; cause?: unknown }) =>
    new BonsaiError({
      code: "models_invalid",
      message,
      cause,
      hint: 'Example: {"providers": [{"provider": "box", "baseUrl": "http://127.0.0.1:8000/v1", "models": [{"id": "coder", "contextWindow": 32768}]}]}',
    });
  return parseSettings(schema, input, { file, error });
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

/** Returns the address without a slash at its end, or the path of a scenario file. */
function checkedAddress(
  baseUrl: string | undefined,
  { api, file, place, name }: { api: ProviderApi; file: string; place: string; name: string },
): string {
  const isScripted = api === "scripted";
  const schema = z.custom<string>(
    (value) => typeof value === "string" && (isScripted || isWebAddress(value)),
    isScripted ? "the path of a scenario file" : "an http or https address without a user name",
  );
  const error = ({ message }: { message: string }) =>
    new BonsaiError({
      code: "models_invalid",
      message,
      hint: `Set baseUrl to the address of ${name}, for example "http://127.0.0.1:8000/v1". Put credentials in apiKeyEnv or headers.`,
    });
  const address = parseSettings(schema, baseUrl, { file, section: `${place}.baseUrl`, error });
  return isScripted ? address : address.replace(/(?<!\/)\/+$/, "");
}

function isWebAddress(text: string): boolean {
  const { protocol = "", username = "", password = "" } = URL.parse(text) ?? {};
  // fetch refuses an address with a user, and shows it in its error.
  return /^https?:$/.test(protocol) && username === "" && password === "";
}
