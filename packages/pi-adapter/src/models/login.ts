import type { LoginCallbacks, LoginCredentials, ProviderLogin } from "@bonsai-agent/models/login";

/** A message of a login to the user. */
type PiAuthEvent =
  | { type: "auth_url"; url: string; instructions?: string }
  | { type: "device_code"; userCode: string; verificationUri: string }
  | { type: "progress" | "info"; message: string };

/** A question to the user. A choice returns the id of an option. */
interface PiAuthPrompt {
  type: "text" | "secret" | "manual_code" | "select";
  message: string;
  placeholder?: string;
  options?: readonly { id: string; label: string }[];
}

/** `auth.oauth` of one of pi's provider objects. */
export interface PiLogin {
  name: string;
  login(interaction: {
    notify(event: PiAuthEvent): void;
    prompt(prompt: PiAuthPrompt): Promise<string>;
    signal: AbortSignal;
  }): Promise<LoginCredentials>;
  refresh(credentials: LoginCredentials, signal: AbortSignal): Promise<LoginCredentials>;
  toAuth(credentials: LoginCredentials): Promise<{ apiKey?: string | undefined }>;
}

/** The credentials' field for the key of `toAuth`: `getApiKey` cannot wait for it. */
const KEY_FIELD = "bonsaiKey";

/** Converts a login of pi's provider objects. */
export function loginOfPi(login: PiLogin): ProviderLogin {
  const withKey = async (credentials: LoginCredentials): Promise<LoginCredentials> => {
    const { apiKey } = await login.toAuth(credentials);
    return apiKey === undefined ? credentials : { ...credentials, [KEY_FIELD]: apiKey };
  };
  return {
    name: login.name,
    login: async (callbacks) => withKey(await login.login(interactionOf(callbacks))),
    refreshToken: async ({ [KEY_FIELD]: _key, ...credentials }, signal) =>
      withKey(await login.refresh(credentials as LoginCredentials, signal)),
    getApiKey: ({ [KEY_FIELD]: key, access }) => (typeof key === "string" ? key : access),
  };
}

function interactionOf(callbacks: LoginCallbacks): Parameters<PiLogin["login"]>[0] {
  return {
    signal: callbacks.signal,
    notify(event) {
      if (event.type === "auth_url") callbacks.onAuth(event);
      else if (event.type === "device_code") callbacks.onDeviceCode(event);
      else callbacks.onProgress(event.message);
    },
    async prompt({ type, message, placeholder, options = [] }) {
      if (type === "manual_code") return callbacks.onManualCodeInput();
      if (type === "select") return (await callbacks.onSelect({ message, options })) ?? "";
      return callbacks.onPrompt({ message, placeholder, isSecret: type === "secret" });
    },
  };
}

/** The login of a provider object, if it has one. */
export function piLoginOf(auth: unknown): PiLogin | undefined {
  const { oauth } = (auth ?? {}) as { oauth?: Partial<PiLogin> };
  const isLogin =
    typeof oauth?.login === "function" &&
    typeof oauth.refresh === "function" &&
    typeof oauth.toAuth === "function";
  return isLogin ? (oauth as PiLogin) : undefined;
}
