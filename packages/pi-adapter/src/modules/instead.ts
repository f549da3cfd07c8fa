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
  resizeImage: "Bonsai sends images as they are.",
};

/** Of `pi-ai`. */
export const insteadOfAi: Readonly<Record<string, string>> = {
  registerApiProvider: provider,
  createProvider: provider,
  createModels: models,
  parseStreamingJson: "Use JSON.parse when the arguments are complete.",
  loginAnthropic: "Bonsai offers no logins; providers need a key.",
  getOAuthApiKey: "Bonsai offers no logins; providers need a key.",
};

/** Of `pi-agent-core`. */
export const insteadOfAgentCore: Readonly<Record<string, string>> = {
  Agent: start,
  AgentHarness: start,
  agentLoop: start,
};
