import { resolve } from "node:path";
import {
  type Agent,
  type AgentNotice,
  type AgentSettings,
  agentSettings,
  type Expansion,
  expandResourceCall,
  type LifecycleEvents,
  lifecycleEventRules,
  openAgent,
  type PromptInput,
} from "@bonsai-agent/agent";
import type { ExtensionTool } from "@bonsai-agent/extension";
import {
  type ExtensionHost,
  type FoundExtension,
  type FrontEndUI,
  hostModules,
  lifecycleNotice,
  loadExtensions,
} from "@bonsai-agent/extension/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import { type CatalogueModel, defaultModel } from "@bonsai-agent/models";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { hostInUse, levelOf, modulesInUse } from "../models/requests.ts";
import { keptSessionOf, type PiSessionManager, SessionManager } from "../modules/session-manager.ts";
import { SettingsManager } from "../modules/settings-manager.ts";
import { piAdapter } from "../pi-adapter.ts";
import { AgentSession, type Bound } from "./agent-session.ts";
import { ModelRuntime } from "./model-runtime.ts";
import { DefaultResourceLoader } from "./resource-loader.ts";

/** pi's options. */
export interface CreateAgentSessionOptions {
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
  settingsManager?: ReturnType<typeof SettingsManager.create>;
}

interface CreatedSession {
  session: AgentSession;
  extensionsResult: ReturnType<DefaultResourceLoader["getExtensions"]>;
  modelFallbackMessage: undefined;
}

const builtinNames = ["read", "bash", "edit", "write", "grep", "find", "ls", "recall"];

/**
 * pi's session in a program: an agent of Bonsai's with extensions, tools and a session file of its own. Within an extension it
 * has the models, the settings and the questions about paths of the program that runs the extension.
 * @throws BonsaiError `pi_no_model`, `pi_session_in_use`
 */
export async function createAgentSession(options: CreateAgentSessionOptions = {}): Promise<CreatedSession> {
  const parts = await sessionParts(options);
  const { loader, manager, runtime, bound, cwd } = parts;
  const { lifecycle, host } = sessionHost(parts);
  const agent = await openSessionAgent(parts, lifecycle);
  bound.agent = agent;
  const inline = [...loader.factories, ...customTools(options.customTools)];
  const extensions = await loadExtensions({
    host,
    inline,
    find: () => ({ extensions: loader.extensionPaths.map(foundByFlag), problems: [] }),
    modules: modulesInUse() ?? hostModules(),
    adapter: piAdapter({ isAllForPi: true }),
  });
  extensions.attach(agent);
  chooseTools(agent, options);
  const { settingsManager = SettingsManager.create(cwd, loader.agentDir) } = options;
  const found = loader.getExtensions();
  const failed = extensions.failed.map(({ path, error }) => ({ path, error: error.message }));
  const session = new AgentSession({
    ...{ agent, extensions, lifecycle, bound, manager, settingsManager, loader, runtime },
    onDispose: () => keptSessionOf(manager)?.readAgain(),
  });
  return {
    session,
    extensionsResult: { ...found, errors: [...found.errors, ...failed] },
    modelFallbackMessage: undefined,
  };
}

interface SessionParts {
  cwd: string;
  options: CreateAgentSessionOptions;
  loader: DefaultResourceLoader;
  manager: PiSessionManager;
  runtime: ModelRuntime;
  session: Session;
  model: CatalogueModel;
  bound: Bound;
  /** The program that runs the extension. */
  outer: ExtensionHost | undefined;
}

async function sessionParts(options: CreateAgentSessionOptions): Promise<SessionParts> {
  const { agentDir = bonsaiHome() } = options;
  const cwd = resolve(options.cwd ?? options.sessionManager?.getCwd() ?? process.cwd());
  const runtime = options.modelRuntime ?? (await ModelRuntime.create());
  const loader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, agentDir });
  if (!loader.loaded) await loader.reload();
  const manager = options.sessionManager ?? SessionManager.create(cwd);
  const kept = keptSessionOf(manager);
  if (kept === undefined) throw notOurs();
  const session = kept.forAgent();
  const model = options.model ? bonsaiModel(options.model) : await usualModel(session, runtime);
  const bound: Bound = { mode: "print", ui: undefined, onError: undefined, agent: undefined };
  return { cwd, options, loader, manager, runtime, session, model, bound, outer: hostInUse() };
}

/** The session's own model, else the one in use, else the first that can be asked. */
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

/** A front end without a user, until the session is bound to one. */
function sessionHost({ cwd, session, runtime, bound, outer }: SessionParts): {
  lifecycle: Lifecycle<LifecycleEvents>;
  host: ExtensionHost;
} {
  const onNotice = (notice: AgentNotice) => bound.onNotice?.(notice);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice(lifecycleNotice(notice)),
  });
  const host: ExtensionHost = {
    get mode() {
      return bound.mode;
    },
    get ui() {
      return bound.ui as FrontEndUI | undefined;
    },
    cwd,
    lifecycle,
    session: () => session,
    agent: () => bound.agent,
    model: () => bound.agent?.model,
    models: async () => runtime.models,
    shutdown: () => bound.shutdown?.(),
    isProjectTrusted: () => outer?.isProjectTrusted() ?? false,
    flag: (name) => outer?.flag(name),
    onNotice,
    confirmPath: async (request) => outer?.confirmPath?.(request),
  };
  return { lifecycle, host };
}

function openSessionAgent(parts: SessionParts, lifecycle: Lifecycle<LifecycleEvents>): Promise<Agent> {
  const { cwd, loader, runtime, session, model, options, bound, outer } = parts;
  const replaced = loader.getSystemPrompt();
  const appended = loader.getAppendSystemPrompt();
  return openAgent({
    session,
    cwd,
    home: loader.agentDir,
    models: runtime.models.client,
    model,
    settings: settingsOf(parts),
    lifecycle,
    givenPrompt: { replaced, appended },
    skills: () =>
      loader.getSkills().skills.map((skill) => ({
        name: skill.name,
        description: skill.description,
        path: skill.filePath,
        folder: skill.baseDir,
        isForModel: !skill.disableModelInvocation,
        isForUser: true,
        readable: skill.baseDir,
        place: { path: skill.filePath, origin: "settings" as const },
      })),
    excludedTools: excludedTools(options),
    expandInput: (input) => expanded(input, loader),
    onNotice: (notice) => bound.onNotice?.(notice),
    confirmPath: async (request) => outer?.confirmPath?.(request),
  });
}

/** Those of the program that runs the extension; its titles and its choice of tools are its own. */
function settingsOf({ options, loader, session, outer }: SessionParts): AgentSettings {
  const base = outer?.agent()?.settings ?? agentSettings({});
  const { thinkingLevel } = session.settings();
  const thinking = options.thinkingLevel ?? thinkingLevel ?? base.thinking;
  const { tools: _tools, ...settings } = base;
  const hasNoInstructions = loader.getAgentsFiles().agentsFiles.length === 0;
  return {
    ...settings,
    titles: false,
    thinking: levelOf(thinking),
    ...(hasNoInstructions ? { instructionFiles: [] } : {}),
  };
}

/** A session that a program makes is often a sub-agent: it has sub-agents of its own only where it asks for them. */
function excludedTools({ tools, excludeTools = [], noTools }: CreateAgentSessionOptions): string[] {
  const own = noTools === "builtin" && tools === undefined ? builtinNames : [];
  return [...excludeTools, ...own, ...(tools?.includes("task") ? [] : ["task"])];
}

function chooseTools(agent: Agent, { tools, noTools, customTools = [] }: CreateAgentSessionOptions): void {
  if (tools !== undefined) agent.tools.setActive([...tools, ...customTools.map(({ name }) => name)]);
  else if (noTools === "all") agent.tools.setActive([]);
}

function customTools(tools: readonly ExtensionTool[] = []) {
  if (tools.length === 0) return [];
  const factory = (api: { registerTool(tool: ExtensionTool): unknown }) => {
    for (const tool of tools) api.registerTool(tool);
  };
  return [{ name: "customTools", factory }];
}

const foundByFlag = (path: string): FoundExtension => ({ path, origin: "flag" });

/** A text that calls a template or a skill. */
async function expanded(
  { text }: Pick<PromptInput, "text">,
  loader: DefaultResourceLoader,
): Promise<Expansion | undefined> {
  const [, called = ""] = /^\s*\/(\S+)/.exec(text) ?? [];
  const template = loader.templates.get(called);
  if (template !== undefined) return { text: expandResourceCall(template, text).text };
  const skill = loader.getSkills().skills.find(({ name }) => called === `skill:${name}`);
  if (skill === undefined) return undefined;
  const { name, filePath: path, baseDir: folder } = skill;
  return { text: expandResourceCall({ name, path, folder }, text).text };
}

function notOurs(): BonsaiError {
  return new BonsaiError({
    code: "pi_session_invalid",
    message: "createAgentSession was given a sessionManager that SessionManager did not make.",
    hint: "Use SessionManager.create, open or inMemory.",
  });
}
