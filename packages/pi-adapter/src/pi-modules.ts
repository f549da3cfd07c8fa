import { INSTEAD, type ModuleExports, type VirtualModules } from "@bonsai-agent/extension/host";

const program = "Start `bonsai --mode rpc` or `bonsai -p --mode json` as a separate program.";
const registry = "Use ctx.modelRegistry: find, getAvailable, getApiKeyAndHeaders, complete.";
const drawing = "Bonsai draws its own messages and lists. Use components of pi-tui with ctx.ui.custom.";
const testing = "In tests, use openTestSession of @bonsai-agent/extension/testing.";
const sessions = "Use ctx.sessionManager, or SessionManager.open for another session.";
const compaction = "Use ctx.compact(), or return a compaction in a session_before_compact handler.";
const skills = "Bonsai reads skills and instructions itself. Add more in a resources_discover handler.";
const shell = "Bonsai runs commands in bash. Use createBashTool or createLocalBashOperations.";
const provider = "Use registerProvider(name, {streamSimple, models}) of the API object.";
const requests = "Use stream and complete. Bonsai retries failed requests itself.";

/** By package of pi: missing exports and their replacement. An import of one fails with the replacement. */
export const REPLACEMENTS: Readonly<Record<string, readonly (readonly [names: string, instead: string])[]>> =
  {
    "pi-coding-agent": [
      ["AgentSessionRuntime InteractiveMode RpcClient createAgentSessionRuntime", program],
      ["createAgentSessionServices createAgentSessionFromServices runPrintMode runRpcMode main", program],
      ["AuthStorage ModelRegistry readStoredCredential resolveModelScopeWithDiagnostics", registry],
      ["buildSessionContext buildSessionProjection parseSessionEntries migrateSessionEntries", sessions],
      ["compact generateSummary generateBranchSummary findCutPoint prepareBranchEntries", compaction],
      ["calculateContextTokens estimateTokens shouldCompact", "Use ctx.getContextUsage()."],
      ["loadSkills loadSkillsFromDir formatSkillsForPrompt loadProjectContextFiles", skills],
      ["AssistantMessageComponent UserMessageComponent ToolExecutionComponent", drawing],
      ["CustomMessageComponent BashExecutionComponent CompactionSummaryMessageComponent", drawing],
      ["ModelSelectorComponent SessionSelectorComponent TreeSelectorComponent", drawing],
      ["ExtensionSelectorComponent ExtensionInputComponent ExtensionEditorComponent", drawing],
      ["FooterComponent", "Use ctx.ui.setFooter."],
      ["Theme", "Write a theme file and pass its name to ctx.ui.setTheme."],
      ["createPowerShellTool createLocalPowerShellOperations getShellConfig", shell],
      ["ProjectTrustStore hasTrustRequiringProjectResources", "Use ctx.isProjectTrusted()."],
      ["createExtensionRuntime discoverAndLoadExtensions ExtensionRunner", testing],
      ["createEventBus", "Use events of the API object."],
      ["convertToPng formatDimensionNote", "Use resizeImage."],
      ["DefaultPackageManager", "Install packages with `bonsai extension add`."],
      ["createMcpExtension", "Use the extension @bonsai-agent/mcp (`bonsai extension add mcp`)."],
    ],
    "pi-ai": [
      ["getModels getProviders getEnvApiKey createModels", registry],
      ["registerApiProvider createProvider lazyApi lazyStream", provider],
      ["streamAnthropic streamOpenAICompletions streamOpenAIResponses retryAssistantCall", requests],
      ["fauxProvider fauxAssistantMessage fauxText fauxToolCall", testing],
      ["loginAnthropic getOAuthApiKey", "Bonsai does not support these logins. Providers need an API key."],
      ["EventStream", "Use AssistantMessageEventStream."],
      ["parseStreamingJson StreamingJsonParser", "Use ToolCallArgumentsStream."],
      ["validateToolArguments validateToolCall", "Use Value of typebox/value."],
    ],
    "pi-agent-core": [
      ["agentLoop agentLoopContinue runAgentLoop runAgentLoopContinue", "Use Agent."],
      ["AgentHarness", program],
      ["JsonlSessionRepo MemorySessionRepo", "Use SessionManager of pi-coding-agent."],
      ["convertToLlm serializeConversation truncateHead formatSize", "Import it from pi-coding-agent."],
    ],
  };

type Load = () => Promise<ModuleExports>;

/** The packages of pi, each loaded at its first import. */
const packages: Readonly<Record<string, Load>> = {
  "pi-coding-agent": withReplacements("pi-coding-agent", () => import("./modules/coding-agent.ts")),
  "pi-ai": withReplacements("pi-ai", () => import("./modules/ai.ts")),
  "pi-agent-core": withReplacements("pi-agent-core", () => import("./sdk/agent.ts")),
  "pi-tui": async () => ({ ...(await import("@earendil-works/pi-tui")), renderFakeCursor }),
};

const typebox = () => import("typebox");
const value = () => import("typebox/value");
/** With the name of older versions of TypeBox for `Compile`. */
const compiler = async () => {
  const { Compile } = await import("typebox/compile");
  return { Compile, TypeCompiler: { Compile } };
};

/** pi's packages and TypeBox for extensions. */
const modules: VirtualModules = {
  ...Object.fromEntries(
    ["@earendil-works", "@mariozechner"].flatMap((scope) =>
      Object.entries({ ...packages, "pi-ai/compat": packages["pi-ai"]! }).map(
        ([name, load]) => [`${scope}/${name}`, load] as const,
      ),
    ),
  ),
  typebox,
  "typebox/type": typebox,
  "typebox/value": value,
  "typebox/compile": compiler,
  "@sinclair/typebox": typebox,
  "@sinclair/typebox/value": value,
  "@sinclair/typebox/compiler": compiler,
};

export function piModules(): VirtualModules {
  return modules;
}

function withReplacements(name: string, load: Load): Load {
  const replacements = REPLACEMENTS[name]!.flatMap(([names, instead]) =>
    names.split(" ").map((each) => [each, instead] as const),
  );
  return async () => ({ ...(await load()), [INSTEAD]: Object.fromEntries(replacements) });
}

/** A character under the cursor, as pi 1.5 draws it. */
function renderFakeCursor(character: string): string {
  return `\u001b[7m${character}\u001b[27m`;
}
