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

const start = "Start `bonsai --mode rpc` or `bonsai -p --mode json` as a program of its own.";
const models = "Use ctx.modelRegistry: find, getAvailable, getApiKeyAndHeaders, complete.";
const drawn = "Bonsai draws its own messages; a renderer can give components of pi-tui.";
const provider = "Use registerProvider(name, {streamSimple, models}) of the API object.";

/** What to use in the place of exports of `pi-coding-agent` that Bonsai has no place for. */
export const insteadOfCodingAgent: Readonly<Record<string, string>> = {
  AgentSession: start,
  createAgentSession: start,
  createAgentSessionRuntime: start,
  InteractiveMode: start,
  RpcClient: start,
  runPrintMode: start,
  runRpcMode: start,
  main: start,
  AuthStorage: models,
  ModelRegistry: models,
  ModelRuntime: models,
  readStoredCredential: models,
  SettingsManager: "Settings of an extension are its own: read a file in getAgentDir().",
  DefaultResourceLoader: "Bonsai has no skills, prompt templates or themes.",
  loadSkills: "Bonsai has no skills.",
  loadSkillsFromDir: "Bonsai has no skills.",
  AssistantMessageComponent: drawn,
  UserMessageComponent: drawn,
  ToolExecutionComponent: drawn,
  CustomMessageComponent: drawn,
  renderDiff: drawn,
  ExtensionSelectorComponent: "Use ctx.ui.select.",
  ExtensionInputComponent: "Use ctx.ui.input.",
  ExtensionEditorComponent: "Use ctx.ui.editor.",
  truncateToVisualLines: "Use wrapTextWithAnsi of pi-tui.",
  createCodemodeExtension: "Bonsai has no code mode; a tool can call what it needs itself.",
  createMcpExtension: "Bonsai speaks no MCP; register tools with registerTool.",
  createToolSearchExtension: "All tools are offered at once; setActiveTools says which.",
  VIRTUAL_MODEL_STATE_ENTRY: "Bonsai has no virtual models; registerProvider with streamSimple can choose.",
  resizeImage: "Bonsai sends images as they are.",
};

/** Of `pi-ai`. */
export const insteadOfAi: Readonly<Record<string, string>> = {
  registerApiProvider: provider,
  createProvider: provider,
  createModels: models,
  parseStreamingJson: "Use ToolCallArgumentsStream, or JSON.parse when the arguments are complete.",
  StreamingJsonParser: "Use ToolCallArgumentsStream.",
  loginAnthropic: "Bonsai offers no logins; providers need a key.",
  getOAuthApiKey: "Bonsai offers no logins; providers need a key.",
};

/** Of `pi-agent-core`. */
export const insteadOfAgentCore: Readonly<Record<string, string>> = {
  Agent: start,
  AgentHarness: start,
  agentLoop: start,
};
