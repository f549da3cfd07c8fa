import type { ExtensionAPI } from "@bonsai-agent/extension";
import { azureModels } from "./src/azure-models.ts";
import { azureSettings } from "./src/azure-settings.ts";

/** Models of Azure OpenAI, as `azure-openai/MODEL` or `azure-openai/DEPLOYMENT`. The SDKs are loaded at the first request. */
export default function azureOpenAi(bonsai: ExtensionAPI): void {
  const settings = azureSettings(process.env);
  let loading: Promise<typeof import("./src/azure-client.ts")> | undefined;
  bonsai.registerProvider("azure-openai", {
    name: "Azure OpenAI",
    api: settings.api,
    // Tells how its servers differ from others; the client knows the whole address.
    baseUrl: settings.endpoint,
    apiKey: settings.isEntra ? undefined : "$AZURE_OPENAI_API_KEY",
    missing: settings.missing,
    models: azureModels(settings.deployments),
    async client(given, call) {
      loading ??= import("./src/azure-client.ts");
      const { azureClient } = await loading;
      return azureClient(settings, given, call);
    },
  });
}
