import {
  type Agent,
  type AgentNotice,
  type AgentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import type { CommandOperations, EditorFiles } from "@bonsai-agent/agent/host";
import { compactionEventRules, type ReviewCompaction } from "@bonsai-agent/compaction";
import type { ExtensionHost, ExtensionMode, FrontEndUI, SessionControl } from "@bonsai-agent/extension/host";
import { Lifecycle, type SlowAnswer } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { databaseUrl, type OpenDatabase, openDatabaseAt } from "./database.ts";
import { type DebugLog, debugLog } from "./debug-log.ts";
import { extensionChoice } from "./extension-choice.ts";
import { CallExtensions } from "./extensions.ts";
import type { AgentCall } from "./invocation.ts";
import { lendKey, type ModelRegistry, openModels } from "./model-choice.ts";
import { OfflineGuard } from "./offline-guard.ts";
import type { Notice } from "./output.ts";
import { pathQuestions } from "./path-questions.ts";
import { notifyUntrusted } from "./project.ts";
import { pauseTimersWhileAsking } from "./questions.ts";
import { Resources } from "./resources.ts";
import { readCallSettings } from "./settings.ts";
import { isProjectTrusted } from "./trust.ts";

/** Shared by all sessions of one call. */
export interface AppContext {
  /** With the flags of the extensions. */
  call: AgentCall;
  home: string;
  cwd: string;
  /** Undefined for sessions in files. */
  database: OpenDatabase | undefined;
  /** A reload reads them again. */
  settings: AgentSettings;
  models: ModelRegistry;
  /** Shared by all agents of the call. */
  lifecycle: Lifecycle<LifecycleEvents>;
  extensions: CallExtensions;
  resources: Resources;
  /** Aborted when an extension ends the program: no new work begins. */
  ending: AbortSignal;
  /** Undefined without a user. */
  ui: FrontEndUI | undefined;
  confirmPath: ReturnType<typeof pathQuestions>;
  /** Decides on compactions before they are written. Undefined: they need no decision. */
  reviewCompaction: ReviewCompaction | undefined;
  /** Reads, writes and runs for the tools. */
  toolPlace: { editor?: EditorFiles; commands?: CommandOperations };
  onNotice: (notice: AgentNotice) => void;
  /** Sets the agent of the extensions, which outlive it. */
  activate(agent: Agent, control: SessionControl): void;
  /** Unloads the extensions. */
  close(): void;
}

interface OpenAppContextOptions {
  onNotice: (notice: AgentNotice) => void;
  ui?: FrontEndUI | undefined;
  /** Decides on compactions before they are written. Default: they need no decision. */
  reviewCompaction?: ReviewCompaction;
  /** Reads and writes text files for the tools. Default: the disk. */
  editor?: EditorFiles;
  /** Runs the commands of the bash tool. Default: a shell of this machine. */
  commands?: CommandOperations;
  /** Flags of extensions besides those of the command line. Default: none. */
  flags?: ReadonlyMap<string, string>;
  /** Command names of the front end. Default: none. */
  reservedCommands?: readonly string[];
  /** Interrupts the loading of extensions; `openAppContext` then throws its reason. Default: never aborts. */
  signal?: AbortSignal;
  /** Called before extensions are loaded: its handlers come before theirs. */
  listen?: (lifecycle: Lifecycle<LifecycleEvents>) => void;
  /** Called for each extension that delays the work. The returned function is called at the end of the delay. */
  onSlowAnswer?: (wait: SlowAnswer) => () => void;
}

/**
 * Loads the extensions too, because they can bring models and flags.
 * @throws BonsaiError for unusable settings, catalogue or keys, for a broken extension of `-e`, and `wrong_usage` for an
 *   unknown flag
 */
export async function openAppContext(call: AgentCall, options: OpenAppContextOptions): Promise<AppContext> {
  const { app, state } = await makeContext(call, options);
  try {
    const opening = app.extensions.open();
    if (opening !== undefined) await raceAbort(opening, options.signal ?? new AbortController().signal);
    const flagged = call.withFlags(app.extensions.now.flags);
    for (const name of flagged.taken)
      app.onNotice({
        level: "warning",
        code: "flag_taken",
        message: `An extension defines the flag --${name}, but bonsai already has this flag. The extension does not receive its value.`,
      });
    state.flags = new Map([...flagged.values, ...(options.flags ?? [])]);
    app.call = flagged.call;
    lendKey(app.models, flagged.call.options);
    return app;
  } catch (error) {
    app.close();
    throw error;
  }
}

/** The parts of the context that change while the extensions run. */
interface ExtensionState {
  agent?: Agent;
  control?: SessionControl;
  flags: ReadonlyMap<string, boolean | string>;
}

async function makeContext(
  call: AgentCall,
  options: OpenAppContextOptions,
): Promise<{ app: AppContext; state: ExtensionState }> {
  const { cwd } = call.io;
  const { reviewCompaction, reservedCommands = [], editor, commands } = options;
  const { ui, setTimer, pauseDuring } = pauseTimersWhileAsking(options.ui);
  const home = bonsaiHome(call.io.env);
  const { log, onNotice } = withLog(call, home, options.onNotice);
  const warn = (notice: Notice) => onNotice({ level: "warning", ...notice });
  const noticedCall = { ...call, output: { notify: warn } };
  const settings = readCallSettings(noticedCall);
  notifyUntrusted(noticedCall);
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
  /** Unreadable settings are a notice, and the last ones stay. */
  const rereadSettings = () => {
    notifyUntrusted(noticedCall);
    try {
      app.settings = readCallSettings(noticedCall);
    } catch (error) {
      if (!BonsaiError.is(error)) throw error;
      warn({ code: error.code, message: `${error.message} ${error.hint}` });
    }
  };
  const models = await openModels({ io: call.io, home, settings, onNotice: warn });
  const { allow } = settings.paths;
  const grants = pathGrantsOf[String(call.options.mode)] ?? [];
  const confirmPath = pathQuestions({ cwd, home, allow, ui, grants });
  const state: ExtensionState = { flags: new Map() };
  const ending = new AbortController();
  const host: ExtensionHost = {
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
    shutdown: () => ending.abort(),
    isProjectTrusted: () => isProjectTrusted(noticedCall),
    flag: (name) => state.flags.get(name),
    resourceCommands: () => resources.readCommands,
    onNotice,
    confirmPath: (request) => confirmPath(state.agent?.session.id)(request),
    onReload: (signal) => resources.load("reload", signal),
    onEntry: (entry) => ui?.showEntry?.(entry),
  };
  const extensions = new CallExtensions({
    choice(reason) {
      if (reason === "reload") rereadSettings();
      return extensionChoice(noticedCall, app.settings);
    },
    host,
    reservedCommands,
    ...(log && { onLoad: (report) => log.loaded(report) }),
  });
  const resources = new Resources({
    call: noticedCall,
    settings: () => app.settings,
    lifecycle,
    extensions,
    reservedCommands,
    onNotice,
  });
  if (call.options.offline === true) models.offline = new OfflineGuard();
  const url = databaseUrl(noticedCall);
  const app: AppContext = {
    database: url === undefined ? undefined : await openDatabaseAt(url, call),
    ...{ call, home, cwd, settings, models, lifecycle, extensions, resources, ui, confirmPath, onNotice },
    ending: ending.signal,
    reviewCompaction: reviewCompaction && pauseDuring(reviewCompaction),
    toolPlace: { ...(editor && { editor }), ...(commands && { commands }) },
    activate: (agent, control) => Object.assign(state, { agent, control }),
    close() {
      extensions.unload();
      // The host has waited for it, unless it could not open.
      app.database?.close().catch(() => {});
      models.offline?.close();
    },
  };
  return { app, state };
}

const pathGrantsOf: Readonly<Record<string, readonly ("session" | "always")[]>> = {
  tui: ["session", "always"],
  acp: ["always"],
};

const modes: Readonly<Record<string, ExtensionMode>> = {
  text: "print",
  json: "json",
  rpc: "rpc",
  // A client with dialogs and without a terminal.
  acp: "rpc",
  tui: "tui",
};

/** With `--debug`, notices go to the log as well. */
function withLog(
  { io, options }: AgentCall,
  home: string,
  notify: (notice: AgentNotice) => void,
): { log: DebugLog | undefined; onNotice: (notice: AgentNotice) => void } {
  if (options.debug !== true) return { log: undefined, onNotice: notify };
  const log = debugLog(home, io.now, ({ message }) =>
    notify({ level: "warning", code: "log_failed", message: `Cannot write the debug log: ${message}.` }),
  );
  const onNotice = (notice: AgentNotice) => {
    log.notice(notice);
    notify(notice);
  };
  return { log, onNotice };
}
