import { INSTEAD, type ModuleExports, type VirtualModules } from "@bonsai-agent/extension/host";

/** By package of pi: a replacement for missing exports, and their names. Imports of them fail with the replacement. */
export const REPLACEMENTS: Readonly<Record<string, readonly (readonly [instead: string, names: string])[]>> =
  {
    "pi-coding-agent": [
      [
        "Start `bonsai --mode rpc` or `bonsai -p --mode json` as a separate program.",
        "AgentSessionRuntime InteractiveMode RpcClient createAgentSessionFromServices createAgentSessionRuntime createAgentSessionServices runPrintMode runRpcMode main",
      ],
      [
        "Use ctx.modelRegistry: find, getAvailable, getApiKeyAndHeaders, complete.",
        "AuthStorage ModelRegistry readStoredCredential resolveModelScopeWithDiagnostics",
      ],
      [
        "Use ctx.sessionManager, or SessionManager.open for another session.",
        "buildSessionContext buildContextEntries buildSessionProjection parseSessionEntries migrateSessionEntries sessionEntryToContextMessages getLatestCompactionEntry",
      ],
      [
        "Use ctx.compact(), or return a compaction in a session_before_compact handler.",
        "compact generateSummary generateSummaryWithUsage generateBranchSummary prepareBranchEntries collectEntriesForBranchSummary findCutPoint findTurnStartIndex DEFAULT_COMPACTION_SETTINGS",
      ],
      [
        "Use ctx.getContextUsage().",
        "calculateContextTokens estimateTokens shouldCompact getLastAssistantUsage",
      ],
      [
        "Bonsai reads skills and instructions itself. Add more in a resources_discover handler.",
        "loadSkills loadSkillsFromDir formatSkillsForPrompt parseSkillBlock loadProjectContextFiles",
      ],
      [
        "Bonsai draws its own messages. A renderer can return components of pi-tui.",
        "AssistantMessageComponent UserMessageComponent ToolExecutionComponent CustomMessageComponent BashExecutionComponent BranchSummaryMessageComponent CompactionSummaryMessageComponent SkillInvocationMessageComponent renderDiff generateDiffString",
      ],
      [
        "Use ctx.ui.select, or a SelectList of pi-tui with ctx.ui.custom.",
        "ModelSelectorComponent SessionSelectorComponent ThemeSelectorComponent ThinkingSelectorComponent TreeSelectorComponent UserMessageSelectorComponent SettingsSelectorComponent ExtensionSelectorComponent",
      ],
      [
        "Use ctx.ui.input, ctx.ui.editor or ctx.ui.setFooter.",
        "ExtensionInputComponent ExtensionEditorComponent FooterComponent",
      ],
      ["Write a theme file and pass its name to ctx.ui.setTheme.", "Theme"],
      [
        "Use createBashTool, createLocalBashOperations or exec of the API object. Bonsai runs commands in bash.",
        "createPowerShellTool createPowerShellToolDefinition createLocalPowerShellOperations getPowerShellConfig getShellConfig",
      ],
      [
        "Use ctx.isProjectTrusted(). The user decides about trust before extensions load.",
        "ProjectTrustStore hasTrustRequiringProjectResources",
      ],
      [
        "Read docs/extensions.md in Bonsai's repository.",
        "getDocsPath getExamplesPath getPackageDir getReadmePath",
      ],
      [
        "In tests, use openTestSession of @bonsai-agent/extension/testing.",
        "createExtensionRuntime discoverAndLoadExtensions ExtensionRunner wrapRegisteredTool wrapRegisteredTools",
      ],
      ["Use events of the API object.", "createEventBus"],
      ["Use resizeImage.", "convertToPng formatDimensionNote"],
      ["Install packages with `bonsai extension add`.", "DefaultPackageManager"],
      ["Use registerFlag and getFlag of the API object.", "parseArgs"],
      ["Use wrapTextWithAnsi of pi-tui.", "truncateToVisualLines"],
      [
        "Use the extension @bonsai-agent/mcp (`bonsai extension add mcp`), or registerTool.",
        "createMcpExtension",
      ],
    ],
    "pi-ai": [
      [
        "Use ctx.modelRegistry: find, getAvailable, getApiKeyAndHeaders, complete.",
        "getModels getProviders getEnvApiKey createModels modelsAreEqual",
      ],
      [
        "Use registerProvider(name, {streamSimple, models}) of the API object.",
        "registerApiProvider createProvider lazyApi lazyStream envApiKeyAuth createImagesProvider createImagesModels",
      ],
      [
        "Use stream and complete. Bonsai retries failed requests itself.",
        "streamAnthropic streamSimpleAnthropic streamOpenAICompletions streamSimpleOpenAICompletions streamOpenAIResponses streamSimpleOpenAIResponses retryAssistantCall retryDelayMs isRetryableAssistantError",
      ],
      [
        "In tests, use openTestSession of @bonsai-agent/extension/testing.",
        "fauxProvider fauxAssistantMessage fauxText fauxThinking fauxToolCall createFauxCore",
      ],
      [
        "Bonsai does not support these logins. Providers need an API key.",
        "loginAnthropic getOAuthApiKey lazyOAuth",
      ],
      ["Use AssistantMessageEventStream.", "EventStream"],
      [
        "Use ToolCallArgumentsStream.",
        "StreamingJsonParser parseStreamingJson parseJsonWithRepair repairJson",
      ],
      [
        "Bonsai checks arguments before it calls a tool. Use Value of typebox/value for other checks.",
        "validateToolArguments validateToolCall",
      ],
    ],
    "pi-agent-core": [
      ["Use Agent.", "agentLoop agentLoopContinue runAgentLoop runAgentLoopContinue"],
      ["Start `bonsai --mode rpc` or `bonsai -p --mode json` as a separate program.", "AgentHarness"],
      ["Use SessionManager of pi-coding-agent.", "JsonlSessionRepo MemorySessionRepo StorageBackedSession"],
      [
        "Import it from pi-coding-agent.",
        "convertToLlm serializeConversation createBashTool createEditTool createReadTool createWriteTool truncateHead truncateTail truncateLine formatSize",
      ],
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
  const replacements = REPLACEMENTS[name]!.flatMap(([instead, names]) =>
    names.split(" ").map((each) => [each, instead] as const),
  );
  return async () => ({ ...(await load()), [INSTEAD]: Object.fromEntries(replacements) });
}

/** A character under the cursor, as pi 1.5 draws it. */
function renderFakeCursor(character: string): string {
  return `\u001b[7m${character}\u001b[27m`;
}
