import { DefaultAzureCredential, type TokenCredential } from "@azure/identity";
import { BonsaiError, ProviderError, type ProviderOptions } from "@bonsai-agent/extension";
import { APIError, AzureOpenAI, OpenAI } from "openai";
import type { AzureSettings } from "./azure-settings.ts";

type Connect = NonNullable<ProviderOptions["client"]>;

/**
 * The client of one request: the SDK's own for Azure where a dated version of the API is asked for, the usual one for the
 * v1 API, as Microsoft documents both. What the environment says of an OpenAI account is not sent.
 * @throws BonsaiError `azure_no_token`
 */
export async function azureClient(
  azure: AzureSettings,
  settings: Parameters<Connect>[0],
  { model, apiKey }: Parameters<Connect>[1],
): ReturnType<Connect> {
  const { endpoint = "", apiVersion } = azure;
  const token = apiKey === undefined ? await entraToken(azure) : undefined;
  const common = { ...settings, organization: null, project: null, adminAPIKey: null };
  const defaultHeaders = { ...model.headers };
  const client =
    apiVersion === undefined
      ? new OpenAI({
          ...common,
          baseURL: `${endpoint}/openai/v1`,
          apiKey: token ?? "none",
          defaultHeaders: {
            ...defaultHeaders,
            ...(apiKey !== undefined && { "api-key": apiKey, Authorization: null }),
          },
        })
      : new AzureOpenAI({
          ...common,
          baseURL: `${endpoint}/openai`,
          apiVersion,
          defaultHeaders,
          ...(token === undefined ? { apiKey } : { apiKey: "", azureADTokenProvider: async () => token }),
        });
  const deployment = azure.deployments.get(model.id) ?? model.id;
  return {
    post: (path, options) => ({
      asResponse: () =>
        client
          .post(path, { ...options, body: { ...(options.body as object), model: deployment } })
          .asResponse()
          .catch((error: unknown) => {
            throw withHint(error, deployment);
          }),
    }),
  };
}

/** Names the setting that avoids a refusal. */
function withHint(error: unknown, deployment: string): unknown {
  if (!(error instanceof APIError) || error.status === undefined) return error;
  const hint = hintFor(error, deployment);
  if (hint === undefined) return error;
  const { status, code, error: body } = error as APIError<number>;
  const said = (body as { message?: unknown } | undefined)?.message;
  const message = typeof said === "string" && said !== "" ? said : `Status ${status}.`;
  return new ProviderError({
    kind: "refused",
    status,
    message: `${message.replace(/\.?$/, ".")} ${hint}`,
    ...(typeof code === "string" && { code }),
    cause: error,
  });
}

function hintFor({ status, code }: APIError, deployment: string): string | undefined {
  if (status === 401)
    return "Check AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT. A key works for one resource only.";
  if (status === 403)
    return "Give your identity the role Cognitive Services OpenAI User for the resource. Check that the resource's firewall allows your network.";
  if (status === 404 || code === "DeploymentNotFound")
    return `The resource has no deployment ${deployment}. Set yours in AZURE_OPENAI_DEPLOYMENT_NAME_MAP, for example ${deployment}=my-deployment.`;
  return undefined;
}

/** Each credential finds an identity once and renews its tokens. */
const credentials = new WeakMap<AzureSettings, TokenCredential>();

async function entraToken(azure: AzureSettings): Promise<string> {
  try {
    const credential = credentials.get(azure) ?? new DefaultAzureCredential();
    credentials.set(azure, credential);
    const found = await credential.getToken(scopeOf(azure.endpoint ?? ""));
    if (found?.token) return found.token;
    throw new Error("no token");
  } catch (error) {
    credentials.delete(azure);
    throw new BonsaiError({
      code: "azure_no_token",
      message: `Could not get a token for Azure OpenAI from Entra ID: ${firstLine(error)}`,
      hint: "Sign in with `az login`. Or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET. Or set a key in AZURE_OPENAI_API_KEY.",
      cause: error,
    });
  }
}

/** The scope of a token, by the resource's cloud. */
function scopeOf(endpoint: string): string {
  const cloud = /\.azure\.(us|cn)$/.exec(URL.parse(endpoint)?.hostname ?? "")?.[1] ?? "com";
  return `https://cognitiveservices.azure.${cloud}/.default`;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").find((line) => line.trim() !== "") ?? "unknown reason";
}
