import { BonsaiError } from "@bonsai-agent/messages";
import {
  defaultModel,
  isReachable,
  type KeyFile,
  type ProviderConfig,
  referenceOf,
} from "@bonsai-agent/models";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askPick, askText, askYes } from "../panels/ask.ts";
import { reloadModels } from "./model-commands.ts";

export const loginCommand: SlashCommand = {
  name: "login",
  description: "Store the key of a provider",
  argumentHint: "[provider]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    keyed(host.app.models.catalogue.providers)
      .filter(({ provider }) => provider.startsWith(prefix.trim()))
      .map(({ provider }) => ({ value: provider, label: provider })),
  async run(args, context) {
    reloadModels(context);
    const providers = keyed(context.host.app.models.catalogue.providers);
    // What stands behind a provider's name may be its key: it is not shown again.
    const [word = "", ...others] = args.split(/\s+/);
    const named = providers.find(({ provider }) => provider === word);
    const isGivenKey = named !== undefined && others.length > 0;
    const provider = named ?? (await pickedProvider(providers, word, context));
    if (provider !== undefined) await storeKey(provider, context, isGivenKey);
  },
};

/** Those that need a key. */
function keyed(providers: readonly ProviderConfig[]): ProviderConfig[] {
  return providers.filter(({ apiKeyEnv }) => apiKeyEnv !== undefined);
}

function pickedProvider(
  providers: readonly ProviderConfig[],
  query: string,
  { host, screen }: InteractiveContext,
): Promise<ProviderConfig | undefined> {
  const { keys } = host.app.models;
  return askPick(screen, {
    title: "Whose key?",
    items: providers,
    query,
    key: ({ provider }) => provider,
    text: ({ provider }) => provider,
    row: (provider) => {
      const origin = keys.source(provider);
      const words = { environment: `from ${provider.apiKeyEnv}`, file: "stored", lent: "lent" };
      return { label: provider.provider, detail: origin === undefined ? "no key" : words[origin] };
    },
  });
}

/** The key itself is shown nowhere. */
async function storeKey(
  config: ProviderConfig,
  context: InteractiveContext,
  isGivenKey: boolean,
): Promise<void> {
  const { keys } = context.host.app.models;
  const { provider } = config;
  let problem = isGivenKey
    ? "Keys are typed or pasted here only: what stands in the prompt can be seen."
    : "";
  for (;;) {
    const key = await askText(context.screen, {
      title: `Key for ${provider}`,
      message: [...aboutKey(config, keys.source(config)), problem].join("\n").trimEnd(),
      isSecret: true,
    });
    if (key === undefined) return;
    if (key.trim() === "") return noKey(config, context);
    try {
      keys.store(provider, key);
      return await keyStored(config, context);
    } catch (error) {
      // A key that was not copied well is asked for again.
      if (!BonsaiError.is(error) || error.code !== "keys_invalid") throw error;
      problem = `${error.message} ${error.hint}`;
    }
  }
}

function aboutKey({ apiKeyEnv }: ProviderConfig, origin: ReturnType<KeyFile["source"]>): readonly string[] {
  return [
    "It is stored in auth.json in Bonsai's folder, readable by you alone, and sent to the provider only.",
    ...(origin === "environment" ? [`${apiKeyEnv} is set: while it is, it is used in its place.`] : []),
    ...(origin === "file" ? ["One is stored; another takes its place, and none takes it away."] : []),
  ];
}

/** Nothing was typed: where a key is stored, that may mean that it shall go. */
async function noKey(config: ProviderConfig, { host, screen, notify }: InteractiveContext): Promise<void> {
  const { keys } = host.app.models;
  const { provider } = config;
  if (keys.source(config) !== "file") return notify("No key was typed, and none was stored.");
  const isSure = await askYes(screen, { title: `Take the key for ${provider} away?`, message: "" });
  if (isSure && keys.remove(provider)) notify(`The key for ${provider} was taken away.`);
}

async function keyStored(config: ProviderConfig, { host, notify }: InteractiveContext): Promise<void> {
  const { keys, catalogue } = host.app.models;
  const { provider, apiKeyEnv } = config;
  const isHidden = keys.source(config) === "environment";
  const but = isHidden ? `but while ${apiKeyEnv} is set, that is used` : "/model lists what it opens";
  notify(`The key for ${provider} is stored; ${but}.`);
  if (!isNoModel(host.agent.model)) return;
  const usable = await defaultModel({ catalogue, keys });
  if (usable === undefined) return;
  await host.agent.setModel(usable.model);
  notify(`${referenceOf(usable.model)} answers from now on.`);
}

export const logoutCommand: SlashCommand = {
  name: "logout",
  description: "Take the stored key of a provider away",
  argumentHint: "[provider]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    host.app.models.keys
      .stored()
      .filter((provider) => provider.startsWith(prefix.trim()))
      .map((provider) => ({ value: provider, label: provider })),
  async run(args, context) {
    const { keys } = context.host.app.models;
    const stored = keys.stored();
    if (stored.length === 0) return context.notify(`No key is stored.${fromEnvironment(context)}`);
    const provider = args === "" ? await pickedKey(stored, context) : args;
    if (provider === undefined) return;
    // What stands there of other kinds is not ours to take away.
    if (stored.includes(provider) && keys.remove(provider)) return keyRemoved(provider, context);
    context.notify(
      `No key is stored for ${provider}; there are keys for ${stored.join(", ")}.${stillSet(provider, context)}`,
      "warning",
    );
  },
};

function pickedKey(stored: readonly string[], context: InteractiveContext): Promise<string | undefined> {
  return askPick(context.screen, {
    title: "Take which key away?",
    items: stored,
    picks: "take it away",
    key: (provider) => provider,
    text: (provider) => provider,
    row: (provider) => {
      const variable = variableInUse(provider, context);
      return {
        label: provider,
        detail: variable === undefined ? "" : `${variable} is set, and used in its place`,
      };
    },
  });
}

function keyRemoved(provider: string, context: InteractiveContext): void {
  const { agent, app } = context.host;
  context.notify(`The key for ${provider} was taken away.${stillSet(provider, context)}`);
  if (agent.model.provider !== provider || isReachable(agent.model, app.models.keys)) return;
  context.notify(`${referenceOf(agent.model)} has no key now; /model chooses another.`, "warning");
}

/** The variable of the environment that gives the key of a provider. */
function variableInUse(provider: string, { host }: InteractiveContext): string | undefined {
  const { keys, catalogue } = host.app.models;
  const config = catalogue.providers.find((each) => each.provider === provider);
  return config !== undefined && keys.source(config) === "environment" ? config.apiKeyEnv : undefined;
}

function stillSet(provider: string, context: InteractiveContext): string {
  const variable = variableInUse(provider, context);
  return variable === undefined
    ? ""
    : ` ${variable} is set, and still gives one: unset it where bonsai is started.`;
}

function fromEnvironment(context: InteractiveContext): string {
  const { providers } = context.host.app.models.catalogue;
  const set = providers.flatMap(({ provider }) => variableInUse(provider, context) ?? []);
  return set.length === 0 ? "" : ` The environment gives some: ${set.join(", ")}.`;
}
