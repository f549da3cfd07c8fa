import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finalEvent, KeyFile, loadCatalogue, ModelClient } from "@bonsai-agent/models";
import type { LoginCallbacks, LoginCredentials } from "@bonsai-agent/models/login";
import { oauthServer } from "@bonsai-agent/testkit";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { bonsaiProvider, type PiProvider } from "../src/models/provider.ts";
import { fixturePath } from "./open-pi-session.ts";

afterEach(() => vi.unstubAllEnvs());

/** The provider that the fixture registers. */
async function registered(): Promise<ReturnType<typeof bonsaiProvider>> {
  const { default: fixture } = await import(fixturePath("login"));
  let provider: ReturnType<typeof bonsaiProvider> | undefined;
  fixture({
    registerProvider: (name: string, given: PiProvider) => {
      provider = bonsaiProvider(name, given, () => {});
    },
  } as never);
  return provider!;
}

const never = () => new Promise<never>(() => {});

function callbacks(does: Partial<LoginCallbacks>): LoginCallbacks {
  return {
    signal: new AbortController().signal,
    onAuth: () => {},
    onDeviceCode: () => {},
    onProgress: () => {},
    onPrompt: never,
    onManualCodeInput: never,
    onSelect: never,
    ...does,
  };
}

test("a login that was written for pi goes through, and is refreshed", async () => {
  const server = await oauthServer();
  onTestFinished(() => server.close());
  vi.stubEnv("LOGIN_SERVER", server.url);
  const { name, options } = await registered();
  const home = mkdtempSync(join(tmpdir(), "bonsai-pi-login-"));
  const keys = new KeyFile({ home, env: {} });
  keys.logins.add(name, options.oauth!);
  let location = "";
  await keys.logins.login(
    name,
    callbacks({
      onAuth: async ({ url }) => {
        location = url;
      },
      onPrompt: async () => (await fetch(location, { redirect: "manual" })).headers.get("location")!,
    }),
  );
  const catalogue = await loadCatalogue({ home, env: {} });
  const model = { ...(await catalogue.find("openai/gpt-5")), provider: name, baseUrl: `${server.url}/v1` };
  server.expireAccess();
  const client = new ModelClient({ keys });
  const { message } = await finalEvent(
    client.stream({
      model: { ...model, api: "openai-chat", apiKeyEnv: undefined, login: "Of pi", needsKey: true },
      purpose: "turn",
      systemPrompt: "",
      tools: [],
      messages: [{ role: "user", content: "Hi", timestamp: 0 }],
    }),
  );
  expect(message.content).toMatchObject([{ type: "text", text: "You are logged in." }]);
  expect(server.count("token")).toBe(2);
});

test("the login of a provider object of pi speaks with events and prompts, and keeps the key that it makes", async () => {
  const heard: unknown[] = [];
  const credentials: LoginCredentials = { access: "a", refresh: "r", expires: 1 };
  const oauth = {
    name: "Object",
    async login({
      notify,
      prompt,
    }: {
      notify(event: object): void;
      prompt(prompt: object): Promise<string>;
    }) {
      notify({ type: "auth_url", url: "https://a.example" });
      notify({ type: "device_code", userCode: "C", verificationUri: "https://b.example" });
      notify({ type: "progress", message: "on it" });
      heard.push(await prompt({ type: "select", message: "Which?", options: [{ id: "x", label: "X" }] }));
      heard.push(await prompt({ type: "manual_code", message: "Code" }));
      heard.push(await prompt({ type: "secret", message: "Secret" }));
      return credentials;
    },
    refresh: async (given: LoginCredentials) => {
      heard.push(given);
      return { ...given, access: "b" };
    },
    toAuth: async ({ access }: LoginCredentials) => ({ apiKey: `key-${access}` }),
  };
  const { options } = bonsaiProvider({ id: "object", auth: { oauth } } as never, undefined, () => {});
  const login = options.oauth!;
  const given = await login.login(
    callbacks({
      onAuth: ({ url }) => heard.push(url),
      onDeviceCode: ({ userCode }) => heard.push(userCode),
      onProgress: (message) => heard.push(message),
      onSelect: async ({ options }) => options[0]!.id,
      onManualCodeInput: async () => "pasted",
      onPrompt: async ({ isSecret }) => (isSecret ? "hidden" : "shown"),
    }),
  );
  expect(heard).toEqual(["https://a.example", "C", "on it", "x", "pasted", "hidden"]);
  expect(login.getApiKey(given)).toBe("key-a");
  const fresh = await login.refreshToken(given, new AbortController().signal);
  expect(heard.at(-1)).toEqual(credentials);
  expect(login.getApiKey(fresh)).toBe("key-b");
});
