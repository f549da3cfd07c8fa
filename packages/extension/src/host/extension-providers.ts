import { BonsaiError } from "@bonsai-agent/messages";
import type { AddedProvider, ProviderApi } from "@bonsai-agent/models";
import { z } from "zod";
import type { ProviderLoginOptions, ProviderOptions } from "../api/provider-options.ts";
import type { OpenedModels } from "./model-registry.ts";
import { streamProvider } from "./stream-provider.ts";

/**
 * Adds a provider or changes one. What fails later (`modifyModels`) is told `onFailure`. The function returned brings back what it covered; a second call does nothing.
 * @throws BonsaiError `provider_options_invalid`, and what opening the models threw; then nothing has changed
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

/** Methods of an object of the extension's own stay its methods. */
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

/** The provider with the models of whoever is logged in; after each login and logout, with those of then. */
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

/** A provider that an extension brings, ready to be added. */
interface CheckedProvider extends AddedProvider {
  /** The key itself, where it was given as one. */
  apiKey?: string;
  stream?: NonNullable<ProviderOptions["stream"]>;
  connect?: NonNullable<ProviderOptions["client"]>;
}

/**
 * Checks what an author wrote. No message holds a key or a header.
 * @param known whether a provider of this name is there already: then what is left out stays as it is
 * @throws BonsaiError `provider_options_invalid`
 */
function checkedProvider(
  name: string,
  options: ProviderOptions,
  { isKnown }: { isKnown: boolean },
): CheckedProvider {
  const refuse = refusalFor(name);
  if (typeof name !== "string" || !/^[^\s/]+$/.test(name))
    throw refuse("the name is not valid", "Choose a name without spaces and slashes.");
  const parsed = providerSchema.safeParse(options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const key = issue?.path.join(".") || "the options";
    throw refuse(`${key}: ${issue?.message ?? "invalid value"}`, `Fix ${key}.`);
  }
  const { stream, client } = options;
  const { apiKey, api, baseUrl, headers, models, authHeader, missing } = parsed.data;
  const isReached = baseUrl !== undefined || stream !== undefined || client !== undefined;
  if (!isKnown && !isReached)
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
    // Whoever brings a login means that it, or a key, is wanted.
    ...(options.oauth === undefined ? {} : { login: options.oauth.name, needsKey: true }),
    models: models?.map((model) => modelOf(model, protocol)),
    stream: stream?.bind(options),
    connect: client?.bind(options),
  };
}

type Refuse = (what: string, hint: string) => BonsaiError;

function refusalFor(name: unknown): Refuse {
  return (what, hint) =>
    new BonsaiError({
      code: "provider_options_invalid",
      message: `Could not register the provider ${JSON.stringify(name) ?? "without a name"}: ${what}.`,
      hint,
    });
}

interface Protocol {
  /** Requests are answered by the extension itself. */
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
  // Whoever names one means that it is wanted.
  if (variable !== null) return { apiKeyEnv: (variable[1] ?? variable[2])!, needsKey: true };
  if (!apiKey.startsWith("!")) return { apiKey };
  throw refuse(
    "apiKey is a command, and Bonsai runs no commands for keys",
    "Name an environment variable, as $NAME.",
  );
}

/** By the names of another agent too. */
const protocols: Readonly<Record<string, ProviderApi>> = {
  "anthropic-messages": "anthropic-messages",
  "openai-responses": "openai-responses",
  "openai-chat": "openai-chat",
  "openai-completions": "openai-chat",
};

function apiOf(api: string | undefined, { own, isNew, refuse }: Protocol): ProviderApi | undefined {
  if (own) return "extension";
  if (api === undefined) return isNew ? "openai-chat" : undefined;
  const known = Object.hasOwn(protocols, api) ? protocols[api] : undefined;
  if (known !== undefined) return known;
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

/** Fields that are undefined stand for what the provider says. */
function modelOf(
  { api, baseUrl, cost, contextWindow, maxTokens, ...given }: ProviderModelInput,
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

/** Who names no price for cached tokens pays the full one. */
function pricesOf({
  input,
  output,
  cacheRead = input,
  cacheWrite = input,
}: NonNullable<ProviderModelInput["cost"]>) {
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

/** What `registerProvider` takes. Keys that another agent knows beside these are left alone. */
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

type ProviderModelInput = z.infer<typeof model>;
