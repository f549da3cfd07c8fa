/** How Azure OpenAI is reached, as the environment says it. */
export interface AzureSettings {
  /** Of the resource, without a path; undefined where it is missing. */
  endpoint: string | undefined;
  /** Undefined: the v1 API, which has no versions. */
  apiVersion: string | undefined;
  api: "openai-responses" | "openai-chat";
  /** The names of deployments by the models that they serve; other models are asked for by their own names. */
  deployments: ReadonlyMap<string, string>;
  /** Without a key: Entra ID says who asks. */
  isEntra: boolean;
  /** What is missing, with the remedy. */
  missing: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Variables by which the Azure SDK finds an identity; one of them, and no key, means Entra ID. */
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

/** People paste it with the path of an API. */
function endpointOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  const path = url.pathname.replace(/\/+$/, "").replace(/\/openai(?:\/v1)?(?:\/responses)?$/, "");
  return `${url.origin}${path}`;
}

/** `model=deployment`, separated by commas; what is not so is left out. */
function deploymentsOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  return new Map(
    pairs.flatMap(([model = "", deployment = ""]) =>
      model === "" || deployment === "" ? [] : [[model, deployment]],
    ),
  );
}
