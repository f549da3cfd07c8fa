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
 * Opens a session with extensions for a test of them: the agent, its tools and its events are the real ones, the model
 * and the user follow a script. No key, no network, nothing on disk but a temporary folder.
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
  const parts: TestParts = {
    options,
    folder,
    cwd,
    session,
    model,
    models,
    notices: [],
    ui: [],
    isShutdown: false,
  };
  const host = testHost(parts);
  if (options.withAgent !== false) parts.agent = await openTestAgent(host, parts);
  const extensions = await loadExtensions({ host, ...testSources(options) });
  if (parts.agent !== undefined) extensions.attach(parts.agent);
  await (parts.agent?.start() ??
    host.lifecycle.notify("session_start", { type: "session_start", reason: "startup" }));
  const resources = await discovered(host);
  const close = async () => {
    await parts.agent?.close();
    extensions.unload();
    session.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    get agent() {
      return parts.agent ?? noAgent();
    },
    session,
    extensions,
    lifecycle: host.lifecycle,
    cwd,
    notices: parts.notices,
    ui: parts.ui,
    requests,
    resources,
    get isShutdown() {
      return parts.isShutdown;
    },
    prompt: async (text) => (parts.agent ?? noAgent()).prompt(text, { source: "interactive" }),
    async command(text) {
      if (!(await extensions.runCommand(text))) throw unknownCommand(text, extensions);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type DiscoveredPaths = Record<"skillPaths" | "promptPaths" | "themePaths", readonly string[]>;

/** Asks the extensions once, as at the start of a program. */
async function discovered({ lifecycle, cwd }: ExtensionHost): Promise<DiscoveredPaths> {
  const event = { type: "resources_discover" as const, cwd, reason: "startup" as const };
  const { result } = await lifecycle.decide("resources_discover", event);
  return { skillPaths: [], promptPaths: [], themePaths: [], ...result };
}

/** What a test session is made of, and what happens in it. */
interface TestParts {
  options: OpenTestSessionOptions;
  /** Stands in the place of Bonsai's home. */
  folder: string;
  cwd: string;
  session: Session;
  model: CatalogueModel;
  models: ExtensionModels;
  agent?: Agent;
  notices: AgentNotice[];
  ui: UICall[];
  isShutdown: boolean;
}

function openTestAgent(host: ExtensionHost, parts: TestParts): Promise<Agent> {
  const { options, folder, cwd, session, model, models } = parts;
  const { settings = {} } = options;
  return openAgent({
    session,
    cwd,
    home: folder,
    models: models.client,
    model,
    settings: agentSettings({ titles: false, ...settings }, { estimator: "chars4" }),
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

/** What a module exports as its default, or the path of the module. */
export type TestExtension = ExtensionFactory | string;

export interface OpenTestSessionOptions {
  /** In load order; functions come before paths, which are read anew at each reload. Default: none. */
  extensions?: TestExtension | readonly TestExtension[];
  /** What the model says to prompts and tool results. Default: nothing, so that a prompt is an error. */
  answers?: TestAnswers;
  /** What the model says when it is asked for a summary. Default: one with every section. */
  summaries?: TestAnswers;
  /** What the model says when extensions ask it themselves. Default: nothing. */
  replies?: TestAnswers;
  /** What the user says to questions. Default: nobody can be asked, and `ctx.hasUI` is false. */
  ui?: TestDialogAnswers;
  /** Default "rpc" with `ui`, else "print". */
  mode?: ExtensionMode;
  /** Laid over the defaults; sessions get no titles, and tokens are counted by characters. */
  settings?: AgentSettingsInput;
  /** Where tools work, absolute. Default: a folder of its own, which goes with the session. */
  cwd?: string;
  /** What was said before, oldest first. */
  history?: readonly StoredMessage[];
  /** In the place of a new session in memory; `close` closes it too. */
  session?: Session;
  /** Laid over the model that is asked: a window of 100,000 tokens, answers of 8,000 at most, no price. */
  model?: Partial<CatalogueModel>;
  /** More models, by `provider/id`; each is like `model` but for what is given here. */
  otherModels?: readonly Partial<CatalogueModel>[];
  /** What the command line gave for flags. */
  flags?: Readonly<Record<string, FlagValue>>;
  /** Default true. */
  isProjectTrusted?: boolean;
  /** Where the session can be left for another. Default: nowhere, so that nothing comes of it. */
  control?: SessionControl;
  /** Laid over the API and the contexts. Default: none. */
  adapter?: ExtensionAdapter;
  /** What modules that are read from a path may import of the host. Default: what Bonsai gives all extensions. */
  modules?: VirtualModules;
  /** Names of commands that no extension can take. Default: none. */
  reservedCommands?: Iterable<string>;
  /** False: no agent, as in the session commands. Default true. */
  withAgent?: boolean;
}

/** A session at work with extensions, whose model and user say what was written down. */
export interface TestSession {
  /** Throws where the session was opened without one. */
  readonly agent: Agent;
  readonly session: Session;
  readonly extensions: Extensions;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Where tools work, absolute. */
  readonly cwd: string;
  /** What users are notified of beside the conversation: failures of extensions among it. */
  readonly notices: readonly AgentNotice[];
  /** Calls of `ctx.ui`, in order. */
  readonly ui: readonly UICall[];
  /** What models were asked, in order; `purpose` parts turns from summaries and from what extensions asked. */
  readonly requests: readonly ProviderCall[];
  /** What extensions answered to `resources_discover`, once they were started; the agent itself is given none of it. */
  readonly resources: Readonly<DiscoveredPaths>;
  /** True once an extension asked for the end of the program. */
  readonly isShutdown: boolean;
  /** What the user says. Resolves when the agent has nothing more to do. */
  prompt(text: string): Promise<RunResult>;
  /** `/name arguments` of an extension. @throws BonsaiError `extension_command_unknown`, `extension_command_failed` */
  command(text: string): Promise<void>;
  /** Ends agent, session and extensions, and removes the session's own folder. A second call does nothing. */
  close(): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A front end whose user follows a script. */
function testHost(parts: TestParts): ExtensionHost {
  const { options, cwd, session, model, models } = parts;
  const onNotice = (notice: AgentNotice) => void parts.notices.push(notice);
  return {
    mode: options.mode ?? (options.ui === undefined ? "print" : "rpc"),
    cwd,
    lifecycle: new Lifecycle<LifecycleEvents>({
      rules: lifecycleEventRules,
      onNotice: (notice) => onNotice(lifecycleNotice(notice)),
    }),
    ui: options.ui === undefined ? undefined : scriptedUi(options.ui, parts.ui),
    session: () => session,
    agent: () => parts.agent,
    model: () => model,
    models: async () => models,
    control: options.control,
    shutdown: () => {
      parts.isShutdown = true;
    },
    isProjectTrusted: () => options.isProjectTrusted ?? true,
    flag: (name) => options.flags?.[name],
    onNotice,
  };
}

/** Functions by their names, modules by their paths. */
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
