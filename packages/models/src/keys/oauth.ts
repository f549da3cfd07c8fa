import { randomUUID } from "node:crypto";
import { BonsaiError } from "@bonsai-agent/messages";
import { pollDevice } from "./device-code.ts";
import { openLoopback } from "./loopback.ts";
import { OAuthClient, type OAuthLoginOptions } from "./oauth-client.ts";
import { pastedCode } from "./pasted-code.ts";
import type { LoginCallbacks, LoginCredentials, ProviderLogin } from "./provider-login.ts";

/**
 * A login by OAuth 2: in the browser with PKCE, and the address pasted where the browser cannot come back; or with a
 * device code. Where a provider has both, the user chooses.
 */
export function oauthLogin(options: OAuthLoginOptions): ProviderLogin {
  const { name, authorizeUrl, deviceUrl, revokeUrl } = options;
  if (authorizeUrl === undefined && deviceUrl === undefined) throw noWay(name);
  const client = new OAuthClient(options);
  return {
    name,
    login: async (callbacks) => {
      const way = await chosenWay(options, callbacks);
      return way === "device" ? deviceLogin(client, callbacks) : browserLogin(client, callbacks);
    },
    refreshToken: (credentials, signal) => client.refresh(credentials, signal),
    getApiKey: ({ access }) => access,
    ...(revokeUrl === undefined
      ? {}
      : { revoke: (credentials, signal) => client.revoke(credentials, signal) }),
  };
}

async function chosenWay(
  { name, authorizeUrl, deviceUrl }: OAuthLoginOptions,
  { onSelect, signal }: LoginCallbacks,
): Promise<"browser" | "device"> {
  if (deviceUrl === undefined) return "browser";
  if (authorizeUrl === undefined) return "device";
  const chosen = await onSelect({
    message: `How do you want to log in to ${name}?`,
    options: [
      { id: "browser", label: "In the browser on this machine" },
      { id: "device", label: "With a code", description: "enter it in a browser on any machine" },
    ],
  });
  signal.throwIfAborted();
  return chosen === "device" ? "device" : "browser";
}

/** The code comes back by the browser, or by the user's paste, whichever is first. */
async function browserLogin(client: OAuthClient, callbacks: LoginCallbacks): Promise<LoginCredentials> {
  const { signal } = callbacks;
  const oauth = await client.library();
  const [state, verifier] = [randomUUID(), oauth.generateRandomCodeVerifier()];
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const loopback = await openLoopback({ ...client.options.redirect, state, signal: both });
  try {
    const challenge = await oauth.calculatePKCECodeChallenge(verifier);
    const url = client.authorizeUrl({ state, challenge, redirectUri: loopback.redirectUri });
    callbacks.onAuth({ url, instructions: "Log in there. Bonsai continues automatically." });
    const code = await Promise.race([loopback.code(), pastedCode(callbacks, state, both)]);
    // After a pasted code, no browser is expected.
    loopback.close();
    callbacks.onProgress("Exchanging the code for a token…");
    return await client.exchange({ code, state, verifier, redirectUri: loopback.redirectUri, signal });
  } finally {
    loopback.close();
    done.abort(new Error("The login is over."));
  }
}

async function deviceLogin(client: OAuthClient, callbacks: LoginCallbacks): Promise<LoginCredentials> {
  const { signal } = callbacks;
  const device = await client.deviceCode(signal);
  callbacks.onDeviceCode({
    userCode: device.user_code,
    verificationUri: device.verification_uri_complete ?? device.verification_uri,
    intervalSeconds: device.interval ?? 5,
    expiresInSeconds: device.expires_in,
  });
  return pollDevice({ client, device, signal });
}

function noWay(name: string): BonsaiError {
  return new BonsaiError({
    code: "login_options_invalid",
    message: `The login to ${name} has neither an authorizeUrl nor a deviceUrl.`,
    hint: "Pass one of them to oauthLogin, or both.",
  });
}
