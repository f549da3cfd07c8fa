import { BonsaiError } from "@bonsai-agent/messages";
import {
  defaultModel,
  isReachable,
  type KeyFile,
  type ProviderConfig,
  referenceOf,
} from "@bonsai-agent/models";
import { forgetLogin, logoutSentences } from "../../call/login.ts";
import { loginState, takesKey } from "../../views/login-state.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askPick, askText } from "../panels/ask.ts";
import { reloadModels } from "./model-commands.ts";

export const loginCommand: SlashCommand = {
  name: "login",
  description: "Store a provider's API key, log in or log out",
  argumentHint: "[provider]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    host.app.models.catalogue.providers
      .filter(takesKey)
      .filter(({ provider }) => provider.startsWith(prefix.trim()))
      .map(({ provider }) => ({ value: provider, label: provider })),
  async run(args, context) {
    reloadModels(context);
    const providers = context.host.app.models.catalogue.providers.filter(takesKey);
    // Text after a provider's name may be its key, so it is never shown again.
    const [word = "", ...others] = args.split(/\s+/);
    const named = providers.find(({ provider }) => provider === word);
    const isGivenKey = named !== undefined && others.length > 0;
    const provider = named ?? (await pickedProvider(providers, word, context));
    if (provider === undefined) return;
    if (provider === LOG_OUT) return removeLogin("", context);
    const way = isGivenKey ? "key" : await chosenWay(provider, context);
    if (way === "login") await logIn(provider, context);
    else if (way === "key") await storeKey(provider, context, isGivenKey);
  },
};

/** Asks only if the provider takes both. */
function chosenWay(
  { provider, apiKeyEnv, login }: ProviderConfig,
  { screen }: InteractiveContext,
): "login" | "key" | Promise<"login" | "key" | undefined> {
  if (login === undefined) return "key";
  if (apiKeyEnv === undefined) return "login";
  return askPick<"login" | "key">(screen, {
    title: `How do you want to log in to ${provider}?`,
    items: ["login", "key"],
    row: (way) => ({ label: way === "login" ? `Log in with ${login}` : "Enter an API key" }),
  });
}

async function logIn(config: ProviderConfig, context: InteractiveContext): Promise<void> {
  const { provider } = config;
  const login = context.host.app.models.keys.logins.of(provider);
  if (login === undefined)
    return context.notify(
      `Cannot log in to ${provider}: the extension for its login is not loaded.`,
      "warning",
    );
  // No start needs the server that listens for the browser.
  const { runProviderLogin } = await import("./provider-login.ts");
  const state = await runProviderLogin(config, login, context);
  if (state !== undefined) await reportUsable(config, `Logged in to ${login.name}`, context);
}

const LOG_OUT = "logout";

function pickedProvider(
  providers: readonly ProviderConfig[],
  query: string,
  { host, screen }: InteractiveContext,
): Promise<ProviderConfig | typeof LOG_OUT | undefined> {
  const { keys } = host.app.models;
  const rows = [...providers, ...(keys.stored().length > 0 ? ([LOG_OUT] as const) : [])];
  const rank = (row: (typeof rows)[number]) => (row === LOG_OUT ? 1 : sortRank(row, keys));
  return askPick(screen, {
    title: "Log in to which provider?",
    items: rows.toSorted((a, b) => rank(a) - rank(b)),
    query,
    key: (row) => (row === LOG_OUT ? row : row.provider),
    text: (row) => (row === LOG_OUT ? "Log out" : row.provider),
    row: (row) =>
      row === LOG_OUT
        ? { label: "Log out", detail: "removes a stored login or key" }
        : { label: row.provider, detail: stateWords(row, keys) },
  });
}

/** Providers with a key or login come first, then the row "Log out", then logins of extensions. */
function sortRank(config: ProviderConfig, keys: KeyFile): number {
  if (keys.source(config) !== undefined) return 0;
  return config.login === undefined ? 3 : 2;
}

function stateWords(config: ProviderConfig, keys: KeyFile): string {
  const missing = config.login === undefined ? "no key" : `not logged in to ${oneLine(config.login, 40)}`;
  return loginState(config, { keys, nowMs: Date.now() }) ?? missing;
}

async function storeKey(
  config: ProviderConfig,
  context: InteractiveContext,
  isGivenKey: boolean,
): Promise<void> {
  const { keys } = context.host.app.models;
  const { provider } = config;
  let problem = isGivenKey ? "Enter the key here, not in the prompt: the prompt is visible." : "";
  for (;;) {
    const key = await askText(context.screen, {
      title: `Key for ${provider}`,
      message: [...aboutKey(config, keys.source(config)), problem].join("\n").trimEnd(),
      isSecret: true,
    });
    if (key === undefined) return;
    if (key.trim() === "") return context.notify("No key entered. Nothing was stored.");
    try {
      keys.store(provider, key);
      return await reportUsable(config, `Stored the key for ${provider}`, context);
    } catch (error) {
      // The key was not copied well: ask again.
      if (!BonsaiError.is(error) || error.code !== "keys_invalid") throw error;
      problem = `${error.message} ${error.hint}`;
    }
  }
}

function aboutKey({ apiKeyEnv }: ProviderConfig, origin: ReturnType<KeyFile["source"]>): readonly string[] {
  return [
    "Bonsai stores the key in its folder, in auth.json. Only you can read this file. Only the provider receives the key.",
    ...(origin === "environment" ? [`${apiKeyEnv} is set and overrides the stored key.`] : []),
    ...(origin === "file" ? ["A key is stored. A new key replaces it."] : []),
  ];
}

/** Reports a new key or login, and selects a model if there is none. */
async function reportUsable(
  config: ProviderConfig,
  what: string,
  { host, notify }: InteractiveContext,
): Promise<void> {
  const { keys, catalogue } = host.app.models;
  const { apiKeyEnv } = config;
  const isHidden = keys.source(config) === "environment";
  const next = isHidden ? `${apiKeyEnv} is set and overrides it` : "Choose a model with /model";
  notify(`${what}. ${next}.`);
  if (!isNoModel(host.agent.model)) return;
  const usable = await defaultModel({ catalogue, keys });
  if (usable === undefined) return;
  await host.agent.setModel(usable.model);
  notify(`Model: ${referenceOf(usable.model)}.`);
}

/** Removes the stored login or key of a provider. @param args the provider; asked for when empty */
export async function removeLogin(args: string, context: InteractiveContext): Promise<void> {
  const { agent, app } = context.host;
  const stored = app.models.keys.stored();
  if (stored.length === 0) return context.notify("No key or login is stored.");
  const provider = args === "" ? await pickStored(stored, context) : args;
  if (provider === undefined) return;
  const report = await context.interruptible((signal) => forgetLogin(provider, app.models, signal));
  const isClean = report.removed && report.problem === null;
  context.notify(
    logoutSentences(report, app.models)
      .map((text) => oneLine(text))
      .join(" "),
    isClean ? "info" : "warning",
  );
  if (agent.model.provider !== provider || isReachable(agent.model, app.models.keys)) return;
  context.notify(
    `${referenceOf(agent.model)} is no longer available. Choose another model with /model.`,
    "warning",
  );
}

function pickStored(stored: readonly string[], context: InteractiveContext): Promise<string | undefined> {
  const { logins } = context.host.app.models.keys;
  return askPick(context.screen, {
    title: "Remove which login or key?",
    items: stored,
    picks: "remove",
    key: (provider) => provider,
    text: (provider) => provider,
    row: (provider) => ({
      label: provider,
      detail: logins.stored(provider) === undefined ? "key" : "login",
    }),
  });
}
