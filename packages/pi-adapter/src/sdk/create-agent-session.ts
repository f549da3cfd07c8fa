import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type Agent,
  type AgentNotice,
  type AgentSettings,
  agentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
  openAgent,
} from "@bonsai-agent/agent";
import type { ExtensionAPI, ExtensionTool } from "@bonsai-agent/extension";
import {
  type ExtensionHost,
  type Extensions,
  type FrontEndUI,
  hostModules,
  lifecycleNotice,
  loadExtensions,
} from "@bonsai-agent/extension/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { type CatalogueModel, defaultModel } from "@bonsai-agent/models";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { inUse } from "../context-in-use.ts";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { levelOf } from "../models/requests.ts";
import { piAdapter } from "../pi-adapter.ts";
import { AgentSession, type Binding } from "./agent-session.ts";
import { ModelRuntime } from "./model-runtime.ts";
import { DefaultResourceLoader } from "./resource-loader.ts";
import { openKept, type PiSessionManager, readKeptAgain, SessionManager } from "./session-manager.ts";

/** pi's options. */
interface CreateAgentSessionOptions {
  cwd?: string;
  agentDir?: string;
  modelRuntime?: ModelRuntime;
  model?: GivenModel;
  thinkingLevel?: string;
  /** Only these tools, of the built-in ones and of extensions. */
  tools?: string[];
  excludeTools?: string[];
  noTools?: "all" | "builtin";
  customTools?: ExtensionTool[];
  resourceLoader?: DefaultResourceLoader;
  sessionManager?: PiSessionManager;
  settingsManager?: unknown;
}

/**
 * pi's session in a program: an agent of Bonsai with its own extensions, tools and session file. Within an extension it uses
 * the models, the settings and the path questions of the program that runs the extension.
 * @throws BonsaiError `pi_no_model`, `pi_session_in_use`, `pi_session_invalid`
 */
export async function createAgentSession(options: CreateAgentSessionOptions = {}) {
  const parts = await sessionParts(options);
  const { resourceLoader, sessionManager, host } = parts;
  const agent = await openSessionAgent(parts, options);
  parts.agent = agent;
  const extensions = await loadSessionExtensions(parts, options);
  extensions.attach(agent);
  const { tools, customTools = [] } = options;
  const chosen = tools && [...tools, ...customTools.map(({ name }) => name)];
  agent.tools.setActive(chosen ?? (options.noTools === "all" ? [] : undefined));
  const found = resourceLoader.getExtensions();
  const failed = extensions.failed.map(({ path, error }) => ({ path, error: error.message }));
  const { lifecycle } = host;
  const onDispose = () => readKeptAgain(sessionManager);
  return {
    session: new AgentSession({ ...parts, agent, extensions, lifecycle, onDispose }),
    extensionsResult: { ...found, errors: [...found.errors, ...failed] },
    modelFallbackMessage: undefined,
  };
}

interface SessionParts {
  resourceLoader: DefaultResourceLoader;
  sessionManager: PiSessionManager;
  settingsManager: unknown;
  modelRuntime: ModelRuntime;
  session: Session;
  binding: Binding;
  host: ExtensionHost;
  agent?: Agent;
}

async function sessionParts(options: CreateAgentSessionOptions): Promise<SessionParts> {
  const { agentDir = bonsaiHome() } = options;
  const cwd = resolve(options.cwd ?? options.sessionManager?.getCwd() ?? process.cwd());
  const modelRuntime = options.modelRuntime ?? (await ModelRuntime.create());
  const resourceLoader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, agentDir });
  if (!resourceLoader.loaded) await resourceLoader.reload();
  const sessionManager = options.sessionManager ?? SessionManager.create(cwd);
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, agentDir);
  const session = openKept(sessionManager);
  const parts = { resourceLoader, sessionManager, settingsManager, modelRuntime, session };
  const binding: Binding = { mode: "print" };
  const all: SessionParts = { ...parts, binding, host: sessionHost(cwd, () => all) };
  return all;
}

/** The session as its extensions see the program. */
function sessionHost(cwd: string, parts: () => SessionParts): ExtensionHost {
  const outer = inUse()?.extension.host;
  const onNotice = ({ level, message }: AgentNotice) => {
    if (level !== "info") parts().binding.onError?.({ extensionPath: "", event: "notice", error: message });
  };
  return {
    get mode() {
      return parts().binding.mode;
    },
    get ui() {
      return parts().binding.ui as FrontEndUI | undefined;
    },
    cwd,
    lifecycle: new Lifecycle<LifecycleEvents>({
      rules: lifecycleEventRules,
      onNotice: (notice) => onNotice(lifecycleNotice(notice)),
    }),
    onNotice,
    session: () => parts().session,
    agent: () => parts().agent,
    model: () => parts().agent?.model,
    models: async () => parts().modelRuntime.models,
    shutdown: () => parts().binding.shutdown?.(),
    isProjectTrusted: () => outer?.isProjectTrusted() ?? false,
    flag: (name) => outer?.flag(name),
    confirmPath: async (request) => outer?.confirmPath?.(request),
  };
}

async function openSessionAgent(parts: SessionParts, options: CreateAgentSessionOptions): Promise<Agent> {
  const { resourceLoader: loader, modelRuntime, session, host } = parts;
  const { cwd, lifecycle, onNotice, confirmPath } = host;
  const model = options.model ? bonsaiModel(options.model) : await usualModel(parts);
  return openAgent({
    ...{ session, cwd, model, lifecycle, onNotice, ...(confirmPath && { confirmPath }) },
    home: loader.agentDir,
    models: modelRuntime.models.client,
    settings: settingsOf(parts, options),
    givenPrompt: { replaced: loader.getSystemPrompt(), appended: loader.getAppendSystemPrompt() },
    skills: () => loader.skills,
    excludedTools: excludedTools(options),
    expandInput: async ({ text }) => loader.expanded(text),
  });
}

/** The session's own model, else the selected one, else the first with a key. */
async function usualModel({ session, modelRuntime }: SessionParts): Promise<CatalogueModel> {
  const own = session.settings().model;
  const known = own && modelRuntime.getModel(own.provider, own.modelId);
  const model =
    (known && bonsaiModel(known)) ?? modelRuntime.current ?? (await defaultModel(modelRuntime.models))?.model;
  if (model !== undefined) return model;
  throw new BonsaiError({
    code: "pi_no_model",
    message: "createAgentSession found no model: there is no API key and no local server.",
    hint: "Pass a model, or set an API key.",
  });
}

/** The settings of the program that runs the extension, without its titles and its choice of tools. */
function settingsOf(
  { resourceLoader, session }: SessionParts,
  { thinkingLevel }: CreateAgentSessionOptions,
): AgentSettings {
  const { tools: _tools, ...base } = inUse()?.extension.host?.agent()?.settings ?? agentSettings({});
  const thinking = levelOf(thinkingLevel ?? session.settings().thinkingLevel ?? base.thinking);
  return { ...base, titles: false, thinking, instructionFiles: resourceLoader.instructionFiles(base) };
}

const BUILT_IN = ["read", "bash", "edit", "write", "grep", "find", "ls", "recall", "context"];

/** Such a session is often a sub-agent: it has sub-agents of its own only if `tools` names them. */
function excludedTools({ tools, excludeTools = [], noTools }: CreateAgentSessionOptions): string[] {
  const own = noTools === "builtin" && tools === undefined ? BUILT_IN : [];
  return [...excludeTools, ...own, ...(tools?.includes("task") ? [] : ["task"])];
}

function loadSessionExtensions(
  { resourceLoader, host }: SessionParts,
  { customTools = [] }: CreateAgentSessionOptions,
): Promise<Extensions> {
  const factory = (api: ExtensionAPI) => {
    for (const tool of customTools) api.registerTool(tool);
  };
  const extensions = resourceLoader.extensionPaths.map((path) => ({ path, origin: "flag" as const }));
  return loadExtensions({
    host,
    inline: [...resourceLoader.factories, { name: "customTools", factory }],
    find: () => ({ extensions, problems: [] }),
    modules: inUse()?.extension.modules ?? hostModules(),
    adapter: piAdapter({ isAllForPi: true }),
  });
}

/** The settings file that a program of pi reads. Sessions have Bonsai's settings. */
export const SettingsManager = {
  create: (_cwd?: string, agentDir = bonsaiHome()) => settingsManagerOf(readSettings(agentDir)),
  inMemory: (settings: Record<string, unknown> = {}) => settingsManagerOf(settings),
};

function settingsManagerOf(settings: Record<string, unknown>) {
  return { getGlobalSettings: () => structuredClone(settings), getTheme: () => settings.theme };
}

/** An unreadable file counts as none. */
function readSettings(agentDir: string): Record<string, unknown> {
  try {
    const settings: unknown = JSON.parse(readFileSync(join(agentDir, "settings.json"), "utf8"));
    return isRecord(settings) ? settings : {};
  } catch {
    return {};
  }
}
