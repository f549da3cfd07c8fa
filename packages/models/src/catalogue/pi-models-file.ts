import { spawnSync } from "node:child_process";
import { z } from "zod";
import { parseJson, textFile } from "../json-file.ts";
import { definedFields, effortWords, type ModelCompat, type ProviderApi } from "../model.ts";
import type { FileProvider } from "./catalogue-data.ts";

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
    requiresAssistantAfterToolResult: z.boolean().optional(),
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

type PiModel = Partial<z.infer<typeof modelSchema>>;

type Protocol = Exclude<ProviderApi, "extension">;

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

/** The providers of a `models.json` of pi in Bonsai's form. The keys stay in the file: see `KeyFile`. */
export function piProviders(
  { providers }: z.infer<typeof piModelsSchema>,
  { file, env }: { file: string; env: Environment },
): FileProvider[] {
  return Object.entries(providers).map(([provider, given]) => {
    const { baseUrl, apiKey = "", authHeader, api, models = [], modelOverrides = {} } = given;
    const apiKeyEnv = variableOf(apiKey);
    const place = `providers.${provider}`;
    return {
      provider,
      place,
      // A provider without an `api` is one of pi's own.
      mayBeUnknown: api === undefined && baseUrl === undefined,
      baseUrl,
      apiKeyEnv,
      authHeader: authHeader || undefined,
      ...protocol(api, `${file}: ${place}`),
      ...sharedFields(given, env),
      models: [
        ...models.map(({ id, ...model }, at) => ({
          id,
          ...protocol(model.api, `${file}: ${place}.models[${at}]`),
          ...(model.baseUrl !== undefined && { baseUrl: model.baseUrl.replace(/\/+$/, "") }),
          ...ofModel(model, env),
        })),
        ...Object.entries(modelOverrides).map(([id, model]) => ({
          id,
          isKnownOnly: true,
          ...ofModel(model as PiModel, env),
        })),
      ],
    };
  });
}

function ofModel(
  { name, reasoning, input, contextWindow, maxTokens, cost, ...rest }: PiModel,
  env: Environment,
) {
  const { input: sent, output, cacheRead, cacheWrite } = cost ?? {};
  const prices =
    sent !== undefined && output !== undefined
      ? { input: sent, output, cacheRead: cacheRead ?? sent, cacheWrite: cacheWrite ?? sent }
      : undefined;
  const fields = { name, reasoning, input, contextWindow, maxOutputTokens: maxTokens };
  return { ...definedFields({ ...fields, usdPerMillionTokens: prices }), ...sharedFields(rest, env) };
}

function protocol(api: string | undefined, place: string): { api?: Protocol; missing?: string } {
  if (api === undefined) return {};
  const known = Object.hasOwn(APIS, api) ? APIS[api] : undefined;
  if (known !== undefined) return { api: known };
  const allowed = Object.keys(APIS).join(", ");
  return { missing: `${place}.api is ${JSON.stringify(api)}, but Bonsai only speaks ${allowed}.` };
}

/** The headers without those whose variables are not set, and the differences of the server. */
function sharedFields(
  { headers, compat, thinkingLevelMap }: Pick<PiModel, "headers" | "compat" | "thinkingLevelMap">,
  env: Environment,
): { headers?: Record<string, string>; compat?: ModelCompat } {
  const values = Object.entries(headers ?? {}).flatMap(([name, value]) => {
    const text = configValue(value, env);
    return text === undefined ? [] : [[name, text] as const];
  });
  const own = compatOfPi(compat, Object.values(thinkingLevelMap ?? {}));
  return {
    ...(values.length > 0 && { headers: Object.fromEntries(values) }),
    ...(Object.keys(own).length > 0 && { compat: own }),
  };
}

/** Pi's differences of a server in Bonsai's words. `levels`: the server's words for levels of thinking. */
export function compatOfPi(
  given: PiModel["compat"] = {},
  levels: readonly (string | null)[] = [],
): ModelCompat {
  const { thinkingFormat, maxTokensField } = given;
  const efforts = effortWords.filter((word) => levels.includes(word));
  const isOff = thinkingFormat === undefined && given.supportsReasoningEffort === false;
  const thinking = isOff ? "none" : THINKING[thinkingFormat ?? ""];
  return {
    ...(thinking !== undefined && { thinking }),
    ...(efforts.length > 0 && { efforts }),
    ...(maxTokensField !== undefined && { maxTokensField }),
    ...(given.supportsUsageInStreaming === false && { streamOptions: false }),
    ...(given.requiresAssistantAfterToolResult === true && { userAfterResults: false }),
    ...(given.requiresReasoningContentOnAssistantMessages === true && { thinkingBack: "reasoning_content" }),
  };
}

/** Long enough for a password manager that asks. */
const COMMAND_TIMEOUT_MS = 10_000;

/** The variable that a value of pi names as a whole: `$NAME` or `${NAME}`. */
function variableOf(value: string): string | undefined {
  const [, plain, braced] = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(value) ?? [];
  return plain ?? braced;
}

/**
 * A value of pi's `models.json` and `auth.json`: a text with `$NAME`, a variable's bare name, or `!COMMAND`. Undefined if a
 * variable is not set or the command fails.
 */
export function configValue(value: string, env: Environment): string | undefined {
  if (value.startsWith("!")) return commandOutput(value.slice(1), env);
  // Earlier versions of pi took a variable's name without the dollar sign.
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value)) return env[value] ?? value;
  let isComplete = true;
  const text = value.replaceAll(
    /\$(?:([$!])|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g,
    (_, escaped: string | undefined, plain: string | undefined, braced: string) => {
      if (escaped !== undefined) return escaped;
      const found = env[plain ?? braced];
      isComplete &&= Boolean(found);
      return found ?? "";
    },
  );
  return isComplete ? text : undefined;
}

function commandOutput(command: string, env: Environment): string | undefined {
  const { status, stdout } = spawnSync(command, {
    shell: true,
    encoding: "utf8",
    env: { ...env },
    timeout: COMMAND_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
    windowsHide: true,
  });
  return status === 0 && stdout.trim() !== "" ? stdout.trim() : undefined;
}
