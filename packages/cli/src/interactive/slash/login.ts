import { defaultModel, type ProviderConfig } from "@bonsai-agent/models";
import type { InteractiveWork } from "../interactive-work.ts";
import { askPick, askText, askYes } from "../panels/ask.ts";
import { referenceOf } from "../panels/models/model-item.ts";
import { isNoModel } from "../session/open-host.ts";
import type { SlashCommand } from "./slash-command.ts";

export const login: SlashCommand = {
  name: "login",
  description: "Store the key of a provider",
  argumentHint: "[provider]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    keyed(host.workshop.shelf.catalogue.providers)
      .filter(({ provider }) => provider.startsWith(prefix.trim()))
      .map(({ provider }) => ({ value: provider, label: provider })),
  async run(args, work) {
    const providers = keyed(work.host.workshop.shelf.catalogue.providers);
    const named = providers.find(({ provider }) => provider === args);
    const provider = named ?? (await pickedProvider(providers, args, work));
    if (provider !== undefined) await storeKey(provider, work);
  },
};

/** Those that need a key. */
function keyed(providers: readonly ProviderConfig[]): ProviderConfig[] {
  return providers.filter(({ apiKeyEnv }) => apiKeyEnv !== undefined);
}

function pickedProvider(
  providers: readonly ProviderConfig[],
  query: string,
  { host, screen }: InteractiveWork,
): Promise<ProviderConfig | undefined> {
  const { keys } = host.workshop.shelf;
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

/** The key itself is shown nowhere, and told to nobody. */
async function storeKey(config: ProviderConfig, { host, screen, tell }: InteractiveWork): Promise<void> {
  const { keys, catalogue } = host.workshop.shelf;
  const { provider, apiKeyEnv } = config;
  const origin = keys.source(config);
  const key = await askText(screen, {
    title: `Key for ${provider}`,
    message: [
      "It is stored in auth.json in Bonsai's folder, readable by you alone, and sent to the provider only.",
      ...(origin === "environment" ? [`${apiKeyEnv} is set: while it is, it is used in its place.`] : []),
      ...(origin === "file" ? ["One is stored; another takes its place, and none takes it away."] : []),
    ].join("\n"),
    isSecret: true,
  });
  if (key === undefined) return;
  if (key.trim() === "") {
    if (origin !== "file") return tell({ level: "info", message: "No key was typed, and none was stored." });
    const isSure = await askYes(screen, { title: `Take the key for ${provider} away?`, message: "" });
    if (isSure && keys.remove(provider))
      tell({ level: "info", message: `The key for ${provider} was taken away.` });
    return;
  }
  keys.store(provider, key);
  tell({ level: "info", message: `The key for ${provider} is stored; /model lists what it opens.` });
  if (!isNoModel(host.agent.model)) return;
  const usable = await defaultModel({ catalogue, keys });
  if (usable === undefined) return;
  await host.agent.setModel(usable.model);
  tell({ level: "info", message: `${referenceOf(usable.model)} answers from now on.` });
}
