import { isReachable } from "@bonsai-agent/models";
import type { LoginCallbacks } from "@bonsai-agent/models/login";
import { everyRow, oauthServer } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { ProviderLoginOptions } from "../src/api/provider-options.ts";
import { registerProvider } from "../src/host/extension-providers.ts";
import { modelRegistryOf } from "../src/host/model-registry.ts";
import type { ProviderOptions } from "../src/index.ts";
import { oauthLogin } from "../src/login/index.ts";
import { ownModels } from "./opened-models.ts";

async function stage() {
  const server = await oauthServer();
  onTestFinished(() => server.close());
  const models = await ownModels();
  const failures: unknown[] = [];
  const oauth = oauthLogin({
    name: "Corporate AI",
    clientId: "bonsai",
    authorizeUrl: `${server.url}/authorize`,
    tokenUrl: `${server.url}/token`,
  });
  const options: ProviderOptions = { baseUrl: `${server.url}/v1`, models: [{ id: "m" }], oauth };
  const register = (change: Partial<ProviderOptions> = {}) =>
    registerProvider(
      () => models,
      "corp",
      { ...options, ...change },
      (error) => failures.push(error),
    );
  const registry = modelRegistryOf({ models: () => models, current: () => undefined, onNotice: () => {} });
  const model = () => models.catalogue.models.find(({ provider }) => provider === "corp")!;
  return { server, models, oauth, register, registry, model, failures };
}

const never = () => new Promise<never>(() => {});
const user: LoginCallbacks = {
  signal: new AbortController().signal,
  onAuth: ({ url }) => void fetch(url),
  onDeviceCode: () => {},
  onProgress: () => {},
  onPrompt: never,
  onManualCodeInput: never,
  onSelect: never,
};

test("a provider with a login can be asked between login and logout", async () => {
  const { models, register, registry, model } = await stage();
  const undo = register();
  expect(model()).toMatchObject({ login: "Corporate AI", needsKey: true });
  expect(isReachable(model(), models.keys)).toBe(false);
  expect(await registry.getApiKeyAndHeaders(model())).toEqual({
    ok: false,
    error: "No API key for corp. To add one, run /login corp.",
  });
  await models.keys.logins.login("corp", user);
  expect(registry.hasConfiguredAuth(model())).toBe(true);
  expect(registry.getAvailable()).toContainEqual(model());
  expect(await registry.getApiKeyForProvider("corp")).toMatch(/^access-/);
  await models.keys.logins.logout("corp");
  expect(isReachable(model(), models.keys)).toBe(false);
  undo();
  expect(models.keys.logins.of("corp")).toBeUndefined();
  await expect(models.keys.logins.login("corp", user)).rejects.toMatchObject({ code: "login_none" });
});

test("the key that an extension gets is fresh", async () => {
  const { server, models, oauth, register, registry } = await stage();
  register({ oauth: { ...oauth, login: async (each) => ({ ...(await oauth.login(each)), expires: 1 }) } });
  await models.keys.logins.login("corp", user);
  const key = await registry.getApiKeyForProvider("corp");
  expect(server.isGood(key!)).toBe(true);
  expect(server.count("token")).toBe(2);
});

test("modifyModels changes the models of the current login", async () => {
  const { models, oauth, register, model } = await stage();
  const modifyModels: ProviderLoginOptions["modifyModels"] = (all, { access }) =>
    all.map((each) => ({
      ...each,
      name: `${each.provider} for ${access.slice(0, 7)}`,
      baseUrl: "https://own.example",
    }));
  const undo = register({ oauth: { ...oauth, modifyModels } });
  expect(model().name).toBe("m");
  await models.keys.logins.login("corp", user);
  expect(model()).toMatchObject({ name: "corp for access-", baseUrl: "https://own.example" });
  await models.keys.logins.logout("corp");
  expect(model().name).toBe("m");
  undo();
  expect(model()).toBeUndefined();
});

test("a failing modifyModels leaves the models unchanged", async () => {
  const { models, oauth, register, model, failures } = await stage();
  const modifyModels = () => {
    throw new Error("odd");
  };
  register({ oauth: { ...oauth, modifyModels } });
  await models.keys.logins.login("corp", user);
  expect(model().name).toBe("m");
  expect(failures).toEqual([new Error("odd")]);
});

test("a login without one of its fields is refused", () =>
  everyRow<[string, object]>([
    ["oauth.name", { name: "" }],
    ["oauth.login", { login: "no function" }],
    ["oauth.refreshToken", { refreshToken: undefined }],
    ["oauth.getApiKey", { getApiKey: 7 }],
  ])(async ([field, change]) => {
    const { oauth, register, models } = await stage();
    expect(() => register({ oauth: { ...oauth, ...change } as never })).toThrow(
      expect.objectContaining({ code: "provider_options_invalid", message: expect.stringContaining(field) }),
    );
    expect(models.keys.logins.of("corp")).toBeUndefined();
  }));

test("a login's methods keep their object", async () => {
  const { models, register } = await stage();
  class Own implements ProviderLoginOptions {
    name = "Own";
    readonly #key = "secret";
    login = async () => ({ access: this.#key, refresh: "" });
    async refreshToken() {
      return { access: this.#key, refresh: "" };
    }
    getApiKey() {
      return this.#key;
    }
  }
  register({ oauth: new Own() });
  await models.keys.logins.login("corp", user);
  expect(
    await models.keys.freshKey!(models.catalogue.providers.find(({ provider }) => provider === "corp")!),
  ).toBe("secret");
});
