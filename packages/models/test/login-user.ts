import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OAuthServer, type OAuthServerOptions, oauthServer } from "@bonsai-agent/testkit";
import { KeyFile } from "../src/keys/keys.ts";
import { type OAuthLoginOptions, oauthLogin } from "../src/keys/oauth.ts";
import type { LoginCallbacks, LoginCredentials, ProviderLogin } from "../src/keys/provider-login.ts";
import type { CatalogueModel } from "../src/model.ts";

/** What a user did and saw of one login. */
export interface LoginUser extends LoginCallbacks {
  shown: string[];
  abort(reason?: unknown): void;
}

/** A user whose browser goes where it is sent, and who answers as is said here. */
export function loginUser(does: Partial<LoginCallbacks> = {}): LoginUser {
  const shown: string[] = [];
  const controller = new AbortController();
  return {
    shown,
    abort: (reason = new Error("Esc")) => controller.abort(reason),
    signal: controller.signal,
    onAuth: ({ url }) => {
      shown.push(url);
      // A page that fails is what the test is about.
      fetch(url).then(
        (page) => page.text(),
        () => {},
      );
    },
    onDeviceCode: ({ userCode, verificationUri }) => shown.push(`${userCode} at ${verificationUri}`),
    onProgress: (message) => shown.push(message),
    onPrompt: async () => "",
    onManualCodeInput: () => new Promise(() => {}),
    onSelect: async ({ options }) => options[0]?.id,
    ...does,
  };
}

export const lab: CatalogueModel = {
  provider: "lab",
  id: "actor",
  name: "Actor",
  api: "openai-chat",
  baseUrl: "",
  login: "Lab",
  needsKey: true,
  input: ["text"],
  reasoning: false,
};

export interface LoginLab {
  server: OAuthServer;
  home: string;
  keys: KeyFile;
  login: ProviderLogin;
  model: CatalogueModel;
  options: OAuthLoginOptions;
  /** What stands in auth.json. */
  stored(): Record<string, Record<string, unknown>>;
  store(entries: Record<string, unknown>): void;
}

export function labOptions({ url }: { url: string }): OAuthLoginOptions {
  return {
    name: "Lab",
    clientId: "bonsai",
    authorizeUrl: `${url}/authorize`,
    tokenUrl: `${url}/token`,
    revokeUrl: `${url}/revoke`,
    scopes: ["models"],
  };
}

/** A provider with a login, and a home without anything. */
export async function loginLab(
  given: OAuthServerOptions = {},
  change: Partial<OAuthLoginOptions> = {},
): Promise<LoginLab> {
  const server = await oauthServer(given);
  const home = mkdtempSync(join(tmpdir(), "bonsai-login-"));
  const keys = new KeyFile({ home, env: {} });
  const options = { ...labOptions(server), ...change };
  const login = oauthLogin(options);
  keys.logins.add("lab", login);
  const file = join(home, "auth.json");
  return {
    server,
    home,
    keys,
    login,
    options,
    model: { ...lab, baseUrl: `${server.url}/v1` },
    stored: () => JSON.parse(readFileSync(file, "utf8")),
    store: (entries) => writeFileSync(file, JSON.stringify(entries), { mode: 0o600 }),
  };
}

/** Credentials that the server gave, as a login stores them; `endsInMs` from now. */
export async function givenCredentials(
  { server, login }: Pick<LoginLab, "server" | "login">,
  endsInMs: number,
): Promise<LoginCredentials & { type: "oauth" }> {
  const given = await login.login(loginUser());
  if (!server.isGood(given.access)) throw new Error("The server gave nothing.");
  return { type: "oauth", ...given, expires: Date.now() + endsInMs };
}
