import {
  type Agent,
  type AgentNotice,
  type AgentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import { compactionEventRules, type ReviewCompaction } from "@bonsai-agent/compaction";
import type { ExtensionHost, ExtensionMode, FrontEndUI, SessionControl } from "@bonsai-agent/extension/host";
import { Lifecycle, type SlowAnswer } from "@bonsai-agent/lifecycle";
import { raceAbort } from "@bonsai-agent/messages/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { CallExtensions } from "./call-extensions.ts";
import { type DebugLog, debugLog } from "./debug-log.ts";
import { extensionChoice } from "./extension-choice.ts";
import type { AgentCall } from "./invocation.ts";
import { lendKey, type ModelRegistry, openModels } from "./model-choice.ts";
import { OfflineGuard } from "./offline-guard.ts";
import type { Notice } from "./output.ts";
import { PathQuestions } from "./path-questions.ts";
import { notTrustedNotice, type ProjectPlace, projectParts } from "./project-parts.ts";
import { pausedWhileAsking } from "./questions.ts";
import { userHomeFolder } from "./resource-places.ts";
import { Resources, resourceFlags } from "./resources.ts";
import { agentCallSettings, type SettingsCall } from "./settings.ts";
import { isProjectTrusted } from "./trust.ts";

/** What every session of one call is worked on with. */
export interface AppContext {
  /** With the flags of the extensions read. */
  call: AgentCall;
  home: string;
  cwd: string;
  settings: AgentSettings;
  models: ModelRegistry;
  /** Shared by all agents of the call: a handler gets the events of all of them. */
  lifecycle: Lifecycle<LifecycleEvents>;
  extensions: CallExtensions;
  /** Skills, prompt templates and themes. */
  resources: Resources;
  /** Aborted when an extension asked for the end: nothing new is begun. */
  ending: AbortSignal;
  /** Undefined where nobody can be asked. */
  ui: FrontEndUI | undefined;
  pathQuestions: PathQuestions;
  /** Decides on compactions before they are written; undefined where nobody does. */
  reviewCompaction: ReviewCompaction | undefined;
  /** Notifies the user, and the debug log. */
  onNotice: (notice: AgentNotice) => void;
  /** The agent that extensions work with from now on: they are loaded before there is one, and stay when another comes. */
  activate(agent: Agent, control: SessionControl): void;
  /** Unloads the extensions. */
  close(): void;
}

interface OpenAppContextOptions {
  onNotice: (notice: AgentNotice) => void;
  ui?: FrontEndUI | undefined;
  /** Decides on compactions before they are written. Default: nobody does. */
  reviewCompaction?: ReviewCompaction;
  /** Names of commands that the front end has itself. Default: none. */
  reservedCommands?: readonly string[];
  /** Interrupts the loading of extensions; `openAppContext` then throws its reason. Default: never aborts. */
  signal?: AbortSignal;
  /** Called before extensions are loaded: its handlers come before theirs. */
  listen?: (lifecycle: Lifecycle<LifecycleEvents>) => void;
  /** Called for each extension that lets the work wait; what it returns, when it does so no longer. */
  onSlowAnswer?: (wait: SlowAnswer) => () => void;
}

/**
 * Loads the extensions too, so that the models that they bring can be chosen, and their flags be read.
 * @throws BonsaiError for settings, catalogue and keys that cannot be used, for an extension of `-e` that cannot be
 *   loaded, and `wrong_usage` for a flag that nobody knows
 */
export async function openAppContext(call: AgentCall, options: OpenAppContextOptions): Promise<AppContext> {
  const { state, counted, ...parts } = await makeParts(call, options);
  const { extensions, onNotice } = parts;
  const close = () => {
    extensions.unload();
    parts.models.offline?.close();
  };
  const { signal = new AbortController().signal } = options;
  try {
    const opening = extensions.open();
    if (opening !== undefined) await raceAbort(opening, signal);
    const flagged = call.withFlags(extensions.flags);
    for (const name of flagged.taken) onNotice(flagTaken(name));
    state.flags = flagged.values;
    lendKey(parts.models, flagged.call.options);
    return {
      ...parts,
      call: flagged.call,
      ending: state.ending.signal,
      reviewCompaction: options.reviewCompaction && counted(options.reviewCompaction),
      activate: (agent, control) => Object.assign(state, { agent, control }),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** What there is before extensions are loaded. */
async function makeParts(call: AgentCall, options: OpenAppContextOptions) {
  const { cwd } = call.io;
  const { ui, setTimer, counted } = pausedWhileAsking(options.ui);
  const home = bonsaiHome(call.io.env);
  const { log, onNotice } = withLog(call, home, options.onNotice);
  const warn = ({ code, message }: { code: string; message: string }) =>
    onNotice({ level: "warning", code, message });
  // What of an untrusted project is left aside is one notice, for all of it.
  const settingsCall = {
    ...call,
    output: { notify: (notice: Notice) => notice.code === "project_not_trusted" || warn(notice) },
  };
  const settings = agentCallSettings(settingsCall);
  noticeNotTrusted({ cwd, home, userHome: userHomeFolder(call.io.env) }, call, warn);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    setTimer,
    onSlowAnswer: options.onSlowAnswer,
    // Without a UI, no user can stop a slow handler.
    passesSlowHandlers: options.ui === undefined ? new Set(Object.keys(compactionEventRules)) : undefined,
    onNotice: (notice) => onNotice(extensions.noticeOf(notice)),
  });
  log?.listen(lifecycle);
  options.listen?.(lifecycle);
  const models = await openModels({ io: call.io, home, settings, onNotice: warn });
  const state: ExtensionState = { flags: new Map(), ending: new AbortController() };
  const pathQuestions = pathQuestionsFor({ call, home, cwd, ui }, settings);
  const host = extensionHost({ call, home, cwd, lifecycle, models, ui, onNotice, pathQuestions }, state);
  const { reservedCommands } = options;
  const extensions = new CallExtensions({
    choice: choices(settingsCall, home, settings),
    host,
    ...(reservedCommands && { reservedCommands }),
    ...(log && { onLoad: (report) => log.loaded(report) }),
  });
  const resources = resourcesFor(settingsCall, {
    home,
    settings,
    lifecycle,
    extensions,
    reservedCommands,
    onNotice,
  });
  state.resources = resources;
  if (call.options.offline === true) models.offline = new OfflineGuard();
  return {
    ...{ home, cwd, settings, models, lifecycle, extensions, resources, ui },
    pathQuestions,
    onNotice,
    state,
    counted,
  };
}

type ResourceParts = Pick<AppContext, "home" | "settings" | "lifecycle" | "extensions" | "onNotice"> &
  Pick<OpenAppContextOptions, "reservedCommands">;

function resourcesFor(
  call: Parameters<typeof agentCallSettings>[0],
  { home, settings, lifecycle, extensions, reservedCommands = [], onNotice }: ResourceParts,
): Resources {
  return new Resources({
    home,
    userHome: userHomeFolder(call.io.env),
    cwd: call.io.cwd,
    isProjectTrusted: () => isProjectTrusted(call, home),
    flags: resourceFlags(call.options),
    settings: readAgain(settings, () => agentCallSettings(call)),
    lifecycle,
    listsCommands: () => extensions.loaded.length > 0,
    takenNames: () => ({
      front: reservedCommands,
      extensions: extensions.commands.map(({ name }) => name),
    }),
    onNotice,
  });
}

function pathQuestionsFor(
  { call, home, cwd, ui }: Pick<AppContext, "call" | "home" | "cwd" | "ui">,
  { paths: { allow } }: AgentSettings,
): PathQuestions {
  return new PathQuestions({ cwd, home, allow, ui, offersGrants: call.options.mode === "tui" });
}

/** What the extensions get of a call, and what changes while they run. */
interface ExtensionState {
  resources?: Resources;
  agent?: Agent;
  control?: SessionControl;
  /** Values of their flags, once the command line was read again. */
  flags: ReadonlyMap<string, boolean | string>;
  /** Aborted by an extension that asks for the end. */
  readonly ending: AbortController;
}

type HostParts = Pick<
  AppContext,
  "call" | "home" | "cwd" | "lifecycle" | "models" | "ui" | "onNotice" | "pathQuestions"
>;

function extensionHost(
  { call, home, cwd, lifecycle, models, ui, onNotice, pathQuestions }: HostParts,
  state: ExtensionState,
): ExtensionHost {
  return {
    mode: modes[String(call.options.mode)] ?? "print",
    cwd,
    lifecycle,
    ui,
    get control() {
      return state.control;
    },
    session: () => state.agent?.session,
    agent: () => state.agent,
    models: async () => models,
    shutdown: () => state.ending.abort(),
    isProjectTrusted: () => isProjectTrusted(call, home),
    flag: (name) => state.flags.get(name),
    resourceCommands: () => state.resources?.readCommands ?? [],
    onNotice,
    confirmPath: (request) => pathQuestions.ask(state.agent?.session.id)(request),
    async onReload(signal) {
      noticeNotTrusted({ cwd, home, userHome: userHomeFolder(call.io.env) }, call, (notice) =>
        onNotice({ level: "warning", ...notice }),
      );
      await state.resources?.load("reload", signal);
    },
    onEntry: (entry) => ui?.showEntry?.(entry),
  };
}

const modes: Readonly<Record<string, ExtensionMode>> = {
  text: "print",
  json: "json",
  rpc: "rpc",
  tui: "tui",
};

/** With `--debug`, notices go to the log as well. */
function withLog(
  { io, options }: AgentCall,
  home: string,
  notify: (notice: AgentNotice) => void,
): { log: DebugLog | undefined; onNotice: (notice: AgentNotice) => void } {
  if (options.debug !== true) return { log: undefined, onNotice: notify };
  const log = debugLog({ home, now: io.now, onFailure: (error) => notify(noLog(error)) });
  const onNotice = (notice: AgentNotice) => {
    log.notice(notice);
    notify(notice);
  };
  return { log, onNotice };
}

/** At a reload, settings are read anew. */
function choices(call: SettingsCall, home: string, first: AgentSettings) {
  const settings = readAgain(first, () => agentCallSettings(call));
  return () => extensionChoice(call, { home, settings: settings() });
}

/** What was read already, and what is read from then on. */
function readAgain<Value>(first: Value, read: () => Value): () => Value {
  let known: { value: Value } | undefined = { value: first };
  return () => {
    const value = known === undefined ? read() : known.value;
    known = undefined;
    return value;
  };
}

/** Names only the parts that the flags of the call do not switch off. */
function noticeNotTrusted(place: ProjectPlace, call: AgentCall, warn: (notice: Notice) => void): void {
  if (isProjectTrusted(call, place.home)) return;
  const { extensions, skills, promptTemplates, themes } = call.options;
  const switches = {
    settings: true,
    servers: extensions,
    extensions,
    skills,
    prompts: promptTemplates,
    themes,
  };
  const parts = projectParts(place).filter(({ kind }) => switches[kind] !== false);
  const notice = notTrustedNotice(parts, place.cwd);
  if (notice !== undefined) warn(notice);
}

function flagTaken(name: string): AgentNotice {
  const message = `An extension defines the flag --${name}, but bonsai already has this flag. The extension does not receive its value.`;
  return { level: "warning", code: "flag_taken", message };
}

function noLog({ message }: Error): AgentNotice {
  return { level: "warning", code: "log_failed", message: `Cannot write the debug log: ${message}.` };
}
