import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentNotice,
  type AgentSettingsInput,
  agentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
  openAgent,
  type RunResult,
} from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderCall } from "@bonsai-agent/models";
import { createSession, type Session, type StoredMessage } from "@bonsai-agent/session";
import type { ExtensionFactory, FlagValue } from "../api/extension-api.ts";
import type { ExtensionMode } from "../api/extension-context.ts";
import { lifecycleNotice } from "../host/extension-errors.ts";
import type {
  ExtensionAdapter,
  ExtensionHost,
  ExtensionModels,
  SessionControl,
} from "../host/extension-host.ts";
import { type Extensions, loadExtensions } from "../host/extensions.ts";
import type { LoadExtensionsOptions } from "../host/start-extension.ts";
import { hostModules } from "../load/host-modules.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";
import {
  scriptedModels,
  scriptedUi,
  type TestAnswers,
  type TestDialogAnswers,
  type UICall,
} from "./script.ts";

const usualModel: CatalogueModel = {
  provider: "scripted",
  id: "test",
  name: "Test",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 100_000,
  maxOutputTokens: 8_000,
};

/**
 * Opens a session with extensions for a test: agent, tools and events are real, model and user follow a script. It
 * needs no key and no network, and writes only to a temporary folder.
 */
export async function openTestSession(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-test-session-"));
  const { cwd = folder, otherModels = [] } = options;
  const model = { ...usualModel, ...options.model };
  const all = [model, ...otherModels.map((other) => ({ ...model, ...other }))];
  const requests: ProviderCall[] = [];
  const answers = { turn: options.answers, summary: options.summaries, extension: options.replies };
  const models = await scriptedModels({ home: folder, models: all, answers, requests });
  const session = sessionOf(options, cwd);
  const state: TestState = { notices: [], ui: [], isShutdown: false };
  const parts = { options, folder, cwd, session, model, models, state };
  const host = testHost(parts);
  if (options.withAgent !== false) state.agent = await openTestAgent(host, parts);
  const extensions = await loadExtensions({ host, ...testSources(options) });
  if (state.agent !== undefined) extensions.attach(state.agent);
  await (state.agent?.start() ??
    host.lifecycle.notify("session_start", { type: "session_start", reason: "startup" }));
  const resources = await discovered(host);
  const agent = () => state.agent ?? noAgent();
  const close = async () => {
    await state.agent?.close();
    extensions.unload();
    session.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    get agent() {
      return agent();
    },
    get isShutdown() {
      return state.isShutdown;
    },
    ...{ session, extensions, lifecycle: host.lifecycle, cwd, requests, resources },
    ...{ notices: state.notices, ui: state.ui },
    prompt: async (text) => agent().prompt(text, { source: "interactive" }),
    async command(text) {
      if (!(await extensions.runCommand(text))) throw unknownCommand(text, extensions);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type DiscoveredPaths = Record<"skillPaths" | "promptPaths" | "themePaths", readonly string[]>;

/** Asks the extensions for resources, as at the start of a program. */
async function discovered({ lifecycle, cwd }: ExtensionHost): Promise<DiscoveredPaths> {
  const event = { type: "resources_discover" as const, cwd, reason: "startup" as const };
  const { result } = await lifecycle.decide("resources_discover", event);
  return { skillPaths: [], promptPaths: [], themePaths: [], ...result };
}

interface TestState {
  agent?: Agent;
  notices: AgentNotice[];
  ui: UICall[];
  isShutdown: boolean;
}

interface TestParts {
  options: OpenTestSessionOptions;
  folder: string;
  cwd: string;
  session: Session;
  model: CatalogueModel;
  models: ExtensionModels;
  state: TestState;
}

function openTestAgent(host: ExtensionHost, parts: TestParts): Promise<Agent> {
  const { options, folder, cwd, session, model, models } = parts;
  return openAgent({
    session,
    cwd,
    home: folder,
    models: models.client,
    model,
    settings: agentSettings({ titles: false, ...options.settings }, { estimator: "chars4" }),
    lifecycle: host.lifecycle,
    onNotice: (notice) => host.onNotice(notice),
  });
}

function sessionOf({ session, history = [] }: OpenTestSessionOptions, cwd: string): Session {
  const open = session ?? createSession({ cwd });
  open.append(history.map((message) => ({ type: "message" as const, message })));
  return open;
}

function noAgent(): never {
  throw new BonsaiError({
    code: "extension_needs_agent",
    message: "The test session has no agent.",
    hint: "Remove withAgent: false.",
  });
}

function unknownCommand(text: string, { commands }: Extensions): BonsaiError {
  return new BonsaiError({
    code: "extension_command_unknown",
    message: `No extension registers the command ${text}.`,
    hint: `Known commands: ${commands.map(({ name }) => `/${name}`).join(", ") || "none"}.`,
  });
}

/** A module's default export, or the module's path. */
export type TestExtension = ExtensionFactory | string;

export interface OpenTestSessionOptions {
  /** In load order, functions before paths. A reload reads paths again. Default: none. */
  extensions?: TestExtension | readonly TestExtension[];
  /** The model's answers to prompts and tool results. Default: none, so a prompt is an error. */
  answers?: TestAnswers;
  /** The model's summaries. Default: one with every section. */
  summaries?: TestAnswers;
  /** The model's answers to requests of extensions. Default: none. */
  replies?: TestAnswers;
  /** The user's answers. Default: no user, `ctx.hasUI` is false. */
  ui?: TestDialogAnswers;
  /** Default "rpc" with `ui`, else "print". */
  mode?: ExtensionMode;
  /** Changes to the defaults. Sessions get no titles, and characters count as tokens. */
  settings?: AgentSettingsInput;
  /** The tools' folder, absolute. Default: a temporary one. */
  cwd?: string;
  /** Earlier messages, oldest first. */
  history?: readonly StoredMessage[];
  /** Default: a new session in memory. `close` closes it. */
  session?: Session;
  /** Changes to the model. Default: a window of 100,000 tokens, at most 8,000 for an answer, no price. */
  model?: Partial<CatalogueModel>;
  /** More models, as changes to `model`. */
  otherModels?: readonly Partial<CatalogueModel>[];
  /** Values of flags. */
  flags?: Readonly<Record<string, FlagValue>>;
  /** Default true. */
  isProjectTrusted?: boolean;
  /** Switches sessions. Default: not supported. */
  control?: SessionControl;
  /** Changes the API and the contexts. Default: none. */
  adapter?: ExtensionAdapter;
  /** Host modules for modules with a path. Default: Bonsai's. */
  modules?: VirtualModules;
  /** Names of built-in commands. Default: none. */
  reservedCommands?: Iterable<string>;
  /** False: no agent, as in the session commands. Default true. */
  withAgent?: boolean;
}

/** A running session with extensions, and a scripted model and user. */
export interface TestSession {
  /** Throws without an agent. */
  readonly agent: Agent;
  readonly session: Session;
  readonly extensions: Extensions;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** The tools' folder, absolute. */
  readonly cwd: string;
  /** Notices, including failures of extensions. */
  readonly notices: readonly AgentNotice[];
  /** Calls of `ctx.ui`, in order. */
  readonly ui: readonly UICall[];
  /** Requests to models, in order, with their `purpose`. */
  readonly requests: readonly ProviderCall[];
  /** The extensions' answers to `resources_discover`. The agent gets none of them. */
  readonly resources: Readonly<DiscoveredPaths>;
  /** True after an extension called `shutdown`. */
  readonly isShutdown: boolean;
  /** Sends a prompt of the user. Resolves when the agent is idle. */
  prompt(text: string): Promise<RunResult>;
  /**
   * Runs `/name arguments` of an extension. @throws BonsaiError `extension_command_unknown`, `extension_command_failed`
   */
  command(text: string): Promise<void>;
  /** Closes agent, session and extensions, and removes the temporary folder. A second call does nothing. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A front end with a scripted user. */
function testHost({ options, cwd, session, model, models, state }: TestParts): ExtensionHost {
  const onNotice = (notice: AgentNotice) => void state.notices.push(notice);
  return {
    mode: options.mode ?? (options.ui === undefined ? "print" : "rpc"),
    cwd,
    lifecycle: new Lifecycle<LifecycleEvents>({
      rules: lifecycleEventRules,
      onNotice: (notice) => onNotice(lifecycleNotice(notice)),
    }),
    ui: options.ui === undefined ? undefined : scriptedUi(options.ui, state.ui),
    session: () => session,
    agent: () => state.agent,
    model: () => model,
    models: async () => models,
    control: options.control,
    shutdown: () => {
      state.isShutdown = true;
    },
    isProjectTrusted: () => options.isProjectTrusted ?? true,
    flag: (name) => options.flags?.[name],
    onNotice,
  };
}

function testSources({
  extensions = [],
  adapter,
  modules = hostModules(),
  reservedCommands,
}: OpenTestSessionOptions): Omit<LoadExtensionsOptions, "host"> {
  const all = [extensions].flat();
  const paths = all.filter((each) => typeof each === "string");
  const functions = all.filter((each) => typeof each === "function");
  return {
    inline: functions.map((factory, index) => ({
      name: `${factory.name || "extension"}-${index + 1}`,
      factory,
    })),
    find: () => ({ extensions: paths.map((path) => ({ path, origin: "flag" as const })), problems: [] }),
    modules,
    reservedCommands,
    adapter,
  };
}
