/** Access to Azure OpenAI, from the environment. */
export interface AzureSettings {
  /** The resource's address, without a path; undefined if it is missing. */
  endpoint: string | undefined;
  /** Undefined: the v1 API, which has no versions. */
  apiVersion: string | undefined;
  api: "openai-responses" | "openai-chat";
  /** Deployments by model. Other models use their own names. */
  deployments: ReadonlyMap<string, string>;
  /** True to log in with Entra ID instead of a key. */
  isEntra: boolean;
  /** The missing setting, with the remedy. */
  missing: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Variables of the Azure SDK for Entra ID. One of them, without a key, selects Entra ID. */
const ENTRA = [
  "AZURE_TOKEN_CREDENTIALS",
  "AZURE_CLIENT_ID",
  "AZURE_FEDERATED_TOKEN_FILE",
  "IDENTITY_ENDPOINT",
] as const;

/** Reads the variables that Microsoft documents for its SDKs, and a map of deployments. Never throws. */
export function azureSettings(env: Env): AzureSettings {
  const given = env.AZURE_OPENAI_ENDPOINT?.trim() ?? "";
  const endpoint = endpointOf(given);
  const apiVersion = env.OPENAI_API_VERSION?.trim() || undefined;
  const isSet = (name: string) => (env[name]?.trim() ?? "") !== "";
  return {
    endpoint,
    apiVersion: apiVersion === "v1" ? undefined : apiVersion,
    api: env.AZURE_OPENAI_API?.trim() === "chat" ? "openai-chat" : "openai-responses",
    deployments: deploymentsOf(env.AZURE_OPENAI_DEPLOYMENT_NAME_MAP ?? ""),
    isEntra: !isSet("AZURE_OPENAI_API_KEY") && ENTRA.some(isSet),
    missing: endpoint === undefined ? missingEndpoint(given) : undefined,
  };
}

function missingEndpoint(given: string): string {
  const what =
    given === ""
      ? "Azure OpenAI has no endpoint. Set AZURE_OPENAI_ENDPOINT"
      : "AZURE_OPENAI_ENDPOINT is not a web address. Set it";
  return `${what} to the address of your resource, for example https://NAME.openai.azure.com.`;
}

/** Users paste it with the path of an API. */
function endpointOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  const path = url.pathname.replace(/\/+$/, "").replace(/\/openai(?:\/v1)?(?:\/responses)?$/, "");
  return `${url.origin}${path}`;
}

/** `model=deployment`, separated by commas. Skips invalid parts. */
function deploymentsOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  return new Map(
    pairs.flatMap(([model = "", deployment = ""]) =>
      model === "" || deployment === "" ? [] : [[model, deployment]],
    ),
  );
}
