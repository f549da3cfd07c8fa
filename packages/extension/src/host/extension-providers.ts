import { BonsaiError } from "@bonsai-agent/messages";
import type { AddedProvider, ProviderApi } from "@bonsai-agent/models";
import { z } from "zod";
import type { ProviderLoginOptions, ProviderOptions } from "../api/provider-options.ts";
import type { OpenedModels } from "./model-registry.ts";
import { streamProvider } from "./stream-provider.ts";

/**
 * Adds a provider, or changes an existing one. Later failures (of `modifyModels`) go to `onFailure`. The function returned
 * restores the former state; a second call does nothing.
 * @throws BonsaiError `provider_options_invalid`, and the error of opening the models; then nothing has changed
 */
export function registerProvider(
  models: OpenedModels,
  name: string,
  options: ProviderOptions,
  onFailure: (error: unknown) => void,
): () => void {
  const { catalogue, keys, client } = models();
  const isKnown = catalogue.providers.some(({ provider }) => provider === name);
  const { apiKey, stream, connect, ...config } = checkedProvider(name, options, { isKnown });
  const { oauth } = options;
  const undos = [
    ...(apiKey === undefined ? [] : [keys.lend(name, apiKey)]),
    ...(stream === undefined ? [] : [client.serve(name, streamProvider(stream))]),
    ...(connect === undefined ? [] : [client.connect(name, connect)]),
    ...(oauth === undefined ? [] : [keys.logins.add(name, boundLogin(oauth))]),
    ...(oauth?.modifyModels === undefined
      ? [catalogue.add(config)]
      : [addForLogins(models, { options, config, isKnown, onFailure })]),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** Keeps the methods of an extension's object bound to it. */
function boundLogin(oauth: ProviderLoginOptions): ProviderLoginOptions {
  return {
    name: oauth.name,
    login: (callbacks) => oauth.login(callbacks),
    refreshToken: (credentials, signal) => oauth.refreshToken(credentials, signal),
    getApiKey: (credentials) => oauth.getApiKey(credentials),
    ...(oauth.revoke === undefined
      ? {}
      : { revoke: (credentials, signal) => oauth.revoke!(credentials, signal) }),
  };
}

interface ForLogins {
  onFailure: (error: unknown) => void;
  options: ProviderOptions;
  config: AddedProvider;
  isKnown: boolean;
}

/** Adds the provider with the models of the current login. Each login and logout changes them. */
function addForLogins(models: OpenedModels, { options, config, isKnown, onFailure }: ForLogins): () => void {
  const { catalogue, keys } = models();
  const name = config.provider;
  const modified = (): AddedProvider => {
    const credentials = keys.logins.stored(name);
    if (credentials === undefined || options.models === undefined) return config;
    const own = options.models.map((model) => ({ ...model, provider: name }));
    const changed = { ...options, models: options.oauth?.modifyModels?.(own, credentials) ?? own };
    const { apiKey: _apiKey, stream: _stream, ...checked } = checkedProvider(name, changed, { isKnown });
    return checked;
  };
  const add = () => {
    try {
      return catalogue.add(modified());
    } catch (error) {
      onFailure(error);
      return catalogue.add(config);
    }
  };
  let remove = add();
  const end = keys.logins.onChange((provider) => {
    if (provider !== name) return;
    remove();
    remove = add();
  });
  return () => {
    end();
    remove();
  };
}

interface CheckedProvider extends AddedProvider {
  /** The key itself. Undefined if the options name a variable. */
  apiKey?: string;
  stream?: NonNullable<ProviderOptions["stream"]>;
  connect?: NonNullable<ProviderOptions["client"]>;
}

/**
 * Checks the options of an author. No message contains a key or a header.
 * @param isKnown for a provider that exists already: missing options keep their values
 * @throws BonsaiError `provider_options_invalid`
 */
function checkedProvider(
  name: string,
  options: ProviderOptions,
  { isKnown }: { isKnown: boolean },
): CheckedProvider {
  const refuse = (what: string, hint: string) =>
    new BonsaiError({
      code: "provider_options_invalid",
      message: `Could not register the provider ${JSON.stringify(name) ?? "without a name"}: ${what}.`,
      hint,
    });
  if (typeof name !== "string" || !/^[^\s/]+$/.test(name))
    throw refuse("the name is not valid", "Choose a name without spaces and slashes.");
  const parsed = providerSchema.safeParse(options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const key = issue?.path.join(".") || "the options";
    throw refuse(`${key}: ${issue?.message ?? "invalid value"}`, `Fix ${key}.`);
  }
  const { stream, client, oauth } = options;
  const { apiKey, api, baseUrl, headers, models, authHeader, missing } = parsed.data;
  if (!isKnown && baseUrl === undefined && stream === undefined && client === undefined)
    throw refuse("baseUrl is missing", `Set baseUrl to the address of ${name}, or answer with stream.`);
  const protocol = { own: stream !== undefined, isNew: !isKnown, refuse };
  return {
    provider: name,
    ...keyOf(apiKey, refuse),
    api: apiOf(api, protocol),
    baseUrl: addressOf(baseUrl, protocol) ?? (client === undefined ? undefined : ""),
    headers,
    missing,
    hasOwnClient: client === undefined ? undefined : true,
    authHeader,
    ...(oauth === undefined ? {} : { login: oauth.name, needsKey: true }),
    models: models?.map((model) => modelOf(model, protocol)),
    stream: stream?.bind(options),
    connect: client?.bind(options),
  };
}

type Refuse = (what: string, hint: string) => BonsaiError;

interface Protocol {
  /** The extension answers requests itself. */
  own: boolean;
  isNew: boolean;
  refuse: Refuse;
}

function keyOf(
  apiKey: string | undefined,
  refuse: Refuse,
): Pick<CheckedProvider, "apiKey" | "apiKeyEnv" | "needsKey"> {
  if (apiKey === undefined) return {};
  const variable = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(apiKey);
  if (variable !== null) return { apiKeyEnv: (variable[1] ?? variable[2])!, needsKey: true };
  if (!apiKey.startsWith("!")) return { apiKey };
  throw refuse(
    "apiKey is a command, and Bonsai runs no commands for keys",
    "Name an environment variable, as $NAME.",
  );
}

/** Includes pi's names. */
const protocols: Readonly<Record<string, ProviderApi>> = {
  "anthropic-messages": "anthropic-messages",
  "openai-responses": "openai-responses",
  "openai-chat": "openai-chat",
  "openai-completions": "openai-chat",
};

function apiOf(api: string | undefined, { own, isNew, refuse }: Protocol): ProviderApi | undefined {
  if (own) return "extension";
  if (api === undefined) return isNew ? "openai-chat" : undefined;
  if (Object.hasOwn(protocols, api)) return protocols[api];
  throw refuse(
    `unknown protocol ${JSON.stringify(api)}`,
    `Set api to one of: ${Object.keys(protocols).join(", ")}. For any other protocol, answer with stream.`,
  );
}

function addressOf(baseUrl: string | undefined, { own, refuse }: Protocol): string | undefined {
  if (own) return baseUrl ?? "";
  if (baseUrl === undefined) return undefined;
  const { protocol = "", username = "", password = "" } = URL.parse(baseUrl) ?? {};
  if (/^https?:$/.test(protocol) && username === "" && password === "")
    return baseUrl.replace(/(?<!\/)\/+$/, "");
  throw refuse(
    "a baseUrl must be an http or https address without a user name",
    "Write it like https://host/v1.",
  );
}

/** The provider's values replace undefined fields. */
function modelOf(
  { api, baseUrl, cost, contextWindow, maxTokens, ...given }: z.infer<typeof model>,
  protocol: Protocol,
): NonNullable<AddedProvider["models"]>[number] {
  return {
    ...given,
    contextWindow: contextWindow || undefined,
    maxOutputTokens: maxTokens || undefined,
    api: api === undefined ? undefined : apiOf(api, protocol),
    baseUrl: baseUrl === undefined ? undefined : addressOf(baseUrl, protocol),
    usdPerMillionTokens: cost && pricesOf(cost),
  };
}

/** Without a price, cached tokens cost as much as the others. */
function pricesOf({
  input,
  output,
  cacheRead = input,
  cacheWrite = input,
}: NonNullable<z.infer<typeof model>["cost"]>) {
  return { input, output, cacheRead, cacheWrite };
}

const tokens = z.int().positive();
const price = z.number().nonnegative();
const headers = z.record(z.string(), z.string());

const model = z.object({
  id: z.string().min(1),
  name: z.string().min(1).optional(),
  reasoning: z.boolean().optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  cost: z
    .object({ input: price, output: price, cacheRead: price.optional(), cacheWrite: price.optional() })
    .optional(),
  // Other agents write 0 for what they do not know.
  contextWindow: z.union([z.literal(0), tokens]).optional(),
  maxTokens: z.union([z.literal(0), tokens]).optional(),
  api: z.string().optional(),
  baseUrl: z.string().optional(),
  headers: headers.optional(),
});

const method = z.custom<(...args: never) => unknown>((value) => typeof value === "function", "a function");

/** The options of `registerProvider`. Ignores other keys, which other agents may know. */
const providerSchema = z.object({
  name: z.string().optional(),
  baseUrl: z.string().optional(),
  apiKey: z.string().min(1).optional(),
  api: z.string().optional(),
  headers: headers.optional(),
  authHeader: z.boolean().optional(),
  models: z.array(model).optional(),
  missing: z.string().min(1).optional(),
  oauth: z
    .looseObject({
      name: z.string().min(1),
      login: method,
      refreshToken: method,
      getApiKey: method,
      revoke: method.optional(),
      modifyModels: method.optional(),
    })
    .optional(),
  client: method.optional(),
  stream: method.optional(),
});
