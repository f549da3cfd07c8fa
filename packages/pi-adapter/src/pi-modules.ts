import { INSTEAD, type ModuleExports, type VirtualModules } from "@bonsai-agent/extension/host";

type Loaders = Record<string, () => Promise<ModuleExports>>;

const codingAgent = () => withInstead(import("./modules/coding-agent.ts"), insteadOfCodingAgent);
const ai = () => withInstead(import("./modules/ai.ts"), insteadOfAi);
const agentCore = () => withInstead(import("./modules/agent-core.ts"), insteadOfAgentCore);
/** With what later versions of it have, as far as it takes no more than a line. */
const tui = async () => ({ ...(await import("@earendil-works/pi-tui")), renderFakeCursor });
const typebox = () => import("typebox");
const value = () => import("typebox/value");
/** With the name that older versions of TypeBox have for `Compile`. */
const compiler = async () => {
  const { Compile } = await import("typebox/compile");
  return { Compile, TypeCompiler: { Compile } };
};

/** The names under which pi was published, then and now. */
const scopes = ["@earendil-works", "@mariozechner"] as const;

const packages: Loaders = {
  "pi-coding-agent": codingAgent,
  "pi-ai": ai,
  "pi-ai/compat": ai,
  "pi-agent-core": agentCore,
  "pi-tui": tui,
};

const typeboxes: Loaders = {
  typebox,
  "typebox/type": typebox,
  "typebox/value": value,
  "typebox/compile": compiler,
  "@sinclair/typebox": typebox,
  "@sinclair/typebox/value": value,
  "@sinclair/typebox/compiler": compiler,
};

const modules: VirtualModules = {
  ...Object.fromEntries(
    scopes.flatMap((scope) =>
      Object.entries(packages).map(([name, loader]) => [`${scope}/${name}`, loader] as const),
    ),
  ),
  ...typeboxes,
};

async function withInstead(
  module: Promise<ModuleExports>,
  instead: Readonly<Record<string, string>>,
): Promise<ModuleExports> {
  return { ...(await module), [INSTEAD]: instead };
}

/** A character as the cursor stands on it. */
function renderFakeCursor(character: string): string {
  return `\u001b[7m${character}\u001b[27m`;
}

/** What pi's packages and TypeBox resolve to in an extension, each loaded when it is first imported. */
export function piModules(): VirtualModules {
  return modules;
}

const start = "Start `bonsai --mode rpc` or `bonsai -p --mode json` as a separate program.";
const models = "Use ctx.modelRegistry: find, getAvailable, getApiKeyAndHeaders, complete.";
const drawn = "Bonsai draws its own messages. A renderer can return components of pi-tui.";
const provider = "Use registerProvider(name, {streamSimple, models}) of the API object.";
const list = "Use ctx.ui.select, or a SelectList of pi-tui with ctx.ui.custom.";
const shell = "Bonsai runs commands in bash. Use createBashTool and createLocalBashOperations.";
const trust = "Use ctx.isProjectTrusted(). The user decides about trust before extensions load.";
const docs = "Read docs/extensions.md in Bonsai's repository.";
const loading = "In tests, use openTestSession of @bonsai-agent/extension/testing.";
const keys = "Bonsai does not support these logins. Providers need an API key.";

const each = (names: string, instead: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.split(" ").map((name) => [name, instead]));

/** What to use in the place of exports of `pi-coding-agent` that Bonsai has no place for. */
export const insteadOfCodingAgent: Readonly<Record<string, string>> = {
  ...each("AgentSessionRuntime InteractiveMode RpcClient", start),
  ...each("createAgentSessionFromServices createAgentSessionRuntime", start),
  ...each("createAgentSessionServices runPrintMode runRpcMode main", start),
  ...each("AuthStorage ModelRegistry readStoredCredential", models),
  ...each("CredentialSynchronizationError", models),
  ...each("AssistantMessageComponent UserMessageComponent ToolExecutionComponent ArminComponent", drawn),
  ...each("CustomMessageComponent BashExecutionComponent BranchSummaryMessageComponent", drawn),
  ...each("CompactionSummaryMessageComponent SkillInvocationMessageComponent", drawn),
  ...each("ModelSelectorComponent SessionSelectorComponent ShowImagesSelectorComponent", list),
  ...each("ThemeSelectorComponent ThinkingSelectorComponent TreeSelectorComponent", list),
  ...each("UserMessageSelectorComponent SettingsSelectorComponent", list),
  ...each("LoginDialogComponent OAuthSelectorComponent", keys),
  ...each("createPowerShellTool createPowerShellToolDefinition", shell),
  ...each("createLocalPowerShellOperations getPowerShellConfig", shell),
  ...each("ProjectTrustStore hasTrustRequiringProjectResources", trust),
  ...each("getDocsPath getExamplesPath getPackageDir getReadmePath", docs),
  ...each("createExtensionRuntime discoverAndLoadExtensions ExtensionRunner", loading),
  ...each("wrapRegisteredTool wrapRegisteredTools", loading),
  ...each(
    "createCodemodeExtension createMcpExtension createToolSearchExtension",
    "Bonsai has no replacement.",
  ),
  DefaultPackageManager: "Install packages with `bonsai extension add`.",
  parseArgs: "Use registerFlag and getFlag of the API object.",
  FooterComponent: "Use ctx.ui.setFooter.",
  ExtensionSelectorComponent: "Use ctx.ui.select.",
  ExtensionInputComponent: "Use ctx.ui.input.",
  ExtensionEditorComponent: "Use ctx.ui.editor.",
  truncateToVisualLines: "Use wrapTextWithAnsi of pi-tui.",
  createCodemodeExtension: "Bonsai has no code mode. A tool can call other code directly.",
  createMcpExtension: "Use the extension @bonsai-agent/mcp (`bonsai extension add mcp`), or registerTool.",
  createToolSearchExtension: "Bonsai offers all active tools at once. Choose them with setActiveTools.",
  VIRTUAL_MODEL_STATE_ENTRY:
    "Bonsai has no virtual models. Use registerProvider with streamSimple to choose a model.",
};

/** Of `pi-ai`. */
export const insteadOfAi: Readonly<Record<string, string>> = {
  ...each("registerApiProvider createProvider lazyApi lazyStream lazyOAuth envApiKeyAuth", provider),
  ...each("createImagesProvider createImagesModels InMemoryModelsStore InMemoryCredentialStore", provider),
  ...each("createModels ModelsError defaultProviderAuthContext", models),
  ...each("fauxProvider fauxAssistantMessage fauxText fauxThinking fauxToolCall createFauxCore", loading),
  ...each("loginAnthropic getOAuthApiKey", keys),
  ...each(
    "retryAssistantCall retryDelayMs isRetryableAssistantError",
    "Bonsai retries failed requests itself.",
  ),
  getOverflowPatterns: "Use isContextOverflow.",
  StreamingJsonParser: "Use ToolCallArgumentsStream.",
};

/** Of `pi-agent-core`. */
export const insteadOfAgentCore: Readonly<Record<string, string>> = {
  AgentHarness: start,
  ...each("streamProxy setDefaultStreamFn", provider),
  ...each(
    "JsonlSessionRepo MemorySessionRepo StorageBackedSession",
    "Use SessionManager of pi-coding-agent.",
  ),
  ...each(
    "loadSkills loadSourcedSkills formatSkillsForSystemPrompt formatSkillInvocation",
    "Use loadSkills and formatSkillsForPrompt of pi-coding-agent.",
  ),
  ...each(
    "loadPromptTemplates loadSourcedPromptTemplates formatPromptTemplateInvocation",
    "Bonsai finds prompt templates itself. Add more in a resources_discover handler. Send a template with sendUserMessage and expandPromptTemplates.",
  ),
};
