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
  type FrontEndUI,
  hostModules,
  lifecycleNotice,
  loadExtensions,
} from "@bonsai-agent/extension/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { type CatalogueModel, defaultModel } from "@bonsai-agent/models";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { hostInUse, levelOf, modulesInUse } from "../models/requests.ts";
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

interface CreatedSession {
  session: AgentSession;
  extensionsResult: ReturnType<DefaultResourceLoader["getExtensions"]>;
  modelFallbackMessage: undefined;
}

const BUILT_IN = ["read", "bash", "edit", "write", "grep", "find", "ls", "recall"];

/**
 * pi's session in a program: an agent of Bonsai with its own extensions, tools and session file. Within an extension it uses
 * the models, the settings and the path questions of the program that runs the extension.
 * @throws BonsaiError `pi_no_model`, `pi_session_in_use`, `pi_session_invalid`
 */
export async function createAgentSession(options: CreateAgentSessionOptions = {}): Promise<CreatedSession> {
  const work = await openWork(options);
  const { loader: resourceLoader, manager: sessionManager, runtime: modelRuntime, binding } = work;
  const { lifecycle, host } = sessionHost(work);
  const agent = await openSessionAgent(work, lifecycle);
  work.agent = agent;
  const extensions = await loadExtensions({
    host,
    inline: [...resourceLoader.factories, ...customTools(options.customTools)],
    find: () => ({
      extensions: resourceLoader.extensionPaths.map((path) => ({ path, origin: "flag" })),
      problems: [],
    }),
    modules: modulesInUse() ?? hostModules(),
    adapter: piAdapter({ isAllForPi: true }),
  });
  extensions.attach(agent);
  chooseTools(agent, options);
  const found = resourceLoader.getExtensions();
  const failed = extensions.failed.map(({ path, error }) => ({ path, error: error.message }));
  const { settingsManager = SettingsManager.create(work.cwd, resourceLoader.agentDir) } = options;
  const session = new AgentSession({
    ...{
      agent,
      extensions,
      lifecycle,
      binding,
      sessionManager,
      settingsManager,
      resourceLoader,
      modelRuntime,
    },
    onDispose: () => readKeptAgain(sessionManager),
  });
  return {
    session,
    extensionsResult: { ...found, errors: [...found.errors, ...failed] },
    modelFallbackMessage: undefined,
  };
}

/** Everything that a session is made of. */
interface SessionWork {
  cwd: string;
  options: CreateAgentSessionOptions;
  loader: DefaultResourceLoader;
  manager: PiSessionManager;
  runtime: ModelRuntime;
  session: Session;
  model: CatalogueModel;
  binding: Binding;
  agent?: Agent;
  /** The program that runs the extension. */
  outer: ExtensionHost | undefined;
}

async function openWork(options: CreateAgentSessionOptions): Promise<SessionWork> {
  const { agentDir = bonsaiHome() } = options;
  const cwd = resolve(options.cwd ?? options.sessionManager?.getCwd() ?? process.cwd());
  const runtime = options.modelRuntime ?? (await ModelRuntime.create());
  const loader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, agentDir });
  if (!loader.loaded) await loader.reload();
  const manager = options.sessionManager ?? SessionManager.create(cwd);
  const session = openKept(manager);
  const model = options.model ? bonsaiModel(options.model) : await usualModel(session, runtime);
  return {
    cwd,
    options,
    loader,
    manager,
    runtime,
    session,
    model,
    binding: { mode: "print" },
    outer: hostInUse(),
  };
}

/** The session's own model, else the selected one, else the first with a key. */
async function usualModel(session: Session, runtime: ModelRuntime): Promise<CatalogueModel> {
  const own = session.settings().model;
  const known = own && runtime.getModel(own.provider, own.modelId);
  const model =
    (known && bonsaiModel(known)) ?? runtime.current ?? (await defaultModel(runtime.models))?.model;
  if (model !== undefined) return model;
  throw new BonsaiError({
    code: "pi_no_model",
    message: "createAgentSession found no model: there is no API key and no local server.",
    hint: "Pass a model, or set an API key.",
  });
}

/** The session as its extensions see the program. */
function sessionHost(work: SessionWork): { lifecycle: Lifecycle<LifecycleEvents>; host: ExtensionHost } {
  const { cwd, session, runtime, binding, outer } = work;
  const onNotice = noticeOf(work);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice(lifecycleNotice(notice)),
  });
  const host: ExtensionHost = {
    get mode() {
      return binding.mode;
    },
    get ui() {
      return binding.ui as FrontEndUI | undefined;
    },
    ...{ cwd, lifecycle, onNotice },
    session: () => session,
    agent: () => work.agent,
    model: () => work.agent?.model,
    models: async () => runtime.models,
    shutdown: () => binding.shutdown?.(),
    isProjectTrusted: () => outer?.isProjectTrusted() ?? false,
    flag: (name) => outer?.flag(name),
    confirmPath: async (request) => outer?.confirmPath?.(request),
  };
  return { lifecycle, host };
}

function noticeOf({ binding }: SessionWork): (notice: AgentNotice) => void {
  return ({ level, message }) => {
    if (level !== "info") binding.onError?.({ extensionPath: "", event: "notice", error: message });
  };
}

function openSessionAgent(work: SessionWork, lifecycle: Lifecycle<LifecycleEvents>): Promise<Agent> {
  const { cwd, loader, runtime, session, model, options, outer } = work;
  return openAgent({
    ...{ session, cwd, model, lifecycle },
    home: loader.agentDir,
    models: runtime.models.client,
    settings: settingsOf(work),
    givenPrompt: { replaced: loader.getSystemPrompt(), appended: loader.getAppendSystemPrompt() },
    skills: () => loader.skills,
    excludedTools: excludedTools(options),
    expandInput: async ({ text }) => loader.expanded(text),
    onNotice: noticeOf(work),
    confirmPath: async (request) => outer?.confirmPath?.(request),
  });
}

/** The settings of the program that runs the extension, without its titles and its choice of tools. */
function settingsOf({ options, loader, session, outer }: SessionWork): AgentSettings {
  const { tools: _tools, ...base } = outer?.agent()?.settings ?? agentSettings({});
  const thinking = options.thinkingLevel ?? session.settings().thinkingLevel ?? base.thinking;
  return {
    ...base,
    titles: false,
    thinking: levelOf(thinking),
    instructionFiles: loader.instructionFiles(base),
  };
}

/** Such a session is often a sub-agent: it has sub-agents of its own only if `tools` names them. */
function excludedTools({ tools, excludeTools = [], noTools }: CreateAgentSessionOptions): string[] {
  const own = noTools === "builtin" && tools === undefined ? BUILT_IN : [];
  return [...excludeTools, ...own, ...(tools?.includes("task") ? [] : ["task"])];
}

function chooseTools(agent: Agent, { tools, noTools, customTools = [] }: CreateAgentSessionOptions): void {
  if (tools !== undefined) agent.tools.setActive([...tools, ...customTools.map(({ name }) => name)]);
  else if (noTools === "all") agent.tools.setActive([]);
}

function customTools(tools: readonly ExtensionTool[] = []) {
  if (tools.length === 0) return [];
  const factory = (api: ExtensionAPI) => {
    for (const tool of tools) api.registerTool(tool);
  };
  return [{ name: "customTools", factory }];
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
