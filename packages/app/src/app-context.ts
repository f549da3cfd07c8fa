import {
  type Agent,
  type AgentNotice,
  type AgentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import type { FlagValue } from "@bonsai-agent/extension";
import type { ExtensionHost, ExtensionMode, FrontEndUI, SessionControl } from "@bonsai-agent/extension/host";
import { type HandlerWait, Lifecycle } from "@bonsai-agent/lifecycle";
import { bonsaiHome } from "@bonsai-agent/session";
import { CallExtensions } from "./call-extensions.ts";
import { type DebugLog, debugLog } from "./debug-log.ts";
import { extensionChoice } from "./extension-choice.ts";
import type { AgentCall } from "./invocation.ts";
import { type ModelAccess, openModels } from "./model-choice.ts";
import { patience, untilAborted } from "./questions.ts";
import { agentCallSettings, type SettingsCall } from "./settings.ts";
import { isTrusted } from "./trust.ts";

/** What every session of one call is worked on with. */
export interface AppContext extends ModelAccess {
  /** With the flags of the extensions read. */
  call: AgentCall;
  home: string;
  cwd: string;
  settings: AgentSettings;
  /** Shared by all agents of the call: who listens once hears all of them. */
  lifecycle: Lifecycle<LifecycleEvents>;
  extensions: CallExtensions;
  /** Whoever opens an agent sits down here, for the extensions to see. */
  seat: ActiveAgent;
  /** Undefined where nobody can be asked. */
  ui: FrontEndUI | undefined;
  /** Tells the user; the debug log hears it too. */
  onNotice: (notice: AgentNotice) => void;
  /** Unloads the extensions. */
  close(): void;
}

interface OpenAppContextOptions {
  tell: (notice: AgentNotice) => void;
  ui?: FrontEndUI | undefined;
  /** Names of commands that the front end has itself. Default: none. */
  reservedCommands?: readonly string[];
  /** Interrupts the loading of extensions; `openWorkshop` then throws its reason. Default: never aborts. */
  signal?: AbortSignal;
  /** Listens before the extensions do: what is told does not depend on what they make of it. */
  listen?: (lifecycle: Lifecycle<LifecycleEvents>) => void;
  /** Told of each extension that lets the work wait, until it does so no longer. */
  onWait?: (wait: HandlerWait) => () => void;
}

/**
 * Loads the extensions too, so that the models that they bring can be chosen, and their flags be read.
 * @throws BonsaiError for settings, catalogue and keys that cannot be used, for an extension of `-e` that cannot be
 *   loaded, and `wrong_usage` for a flag that nobody knows
 */
export async function openAppContext(call: AgentCall, options: OpenAppContextOptions): Promise<AppContext> {
  const { io } = call;
  const { listen, reservedCommands, signal = new AbortController().signal } = options;
  const { ui, setTimer } = patience(options.ui);
  const home = bonsaiHome({ ...io.env });
  const { log, onNotice } = voices(call, home, options.tell);
  const warn = ({ code, message }: { code: string; message: string }) =>
    onNotice({ level: "warning", code, message });
  const settingsCall = { ...call, output: { notify: warn } };
  const settings = agentCallSettings(settingsCall);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    setTimer,
    onWait: options.onWait,
    onNotice: (notice) => onNotice(extensions.noticeOf(notice)),
  });
  log?.listen(lifecycle);
  listen?.(lifecycle);
  const shop = await openModels({ io, home, settings, onNotice: warn });
  const seat = new ActiveAgent();
  let flags: ReadonlyMap<string, boolean | string> = new Map();
  const extensions = new CallExtensions({
    choice: choices(settingsCall, home, settings),
    host: agentExtensionHost({ call, home, lifecycle, shop, seat, ui, flags: () => flags, onNotice }),
    ...(reservedCommands === undefined ? {} : { reservedCommands }),
    ...(log === undefined ? {} : { onLoad: (report) => log.loaded(report) }),
  });
  try {
    const opening = extensions.open();
    if (opening !== undefined) {
      await untilAborted(opening, signal);
      signal.throwIfAborted();
    }
    for (const name of call.takenFlags(extensions.flags)) onNotice(flagTaken(name));
    const flagged = call.withFlags(extensions.flags);
    flags = flagged.values;
    const close = () => extensions.unload();
    const { cwd } = io;
    return {
      ...{ call: flagged.call, home, cwd, settings, ...shop, lifecycle, extensions, seat, ui },
      ...{ onNotice, close },
    };
  } catch (error) {
    extensions.unload();
    throw error;
  }
}

/** Who is told what happens. */
function voices(
  { io, options }: AgentCall,
  home: string,
  tell: (notice: AgentNotice) => void,
): { log: DebugLog | undefined; onNotice: (notice: AgentNotice) => void } {
  const log =
    options.debug === true
      ? debugLog({ home, now: io.now, onFailure: (error) => tell(noLog(error)) })
      : undefined;
  const onNotice = (notice: AgentNotice) => {
    log?.notice(notice);
    tell(notice);
  };
  return { log, onNotice };
}

/** At a reload, settings are read anew. */
function choices(call: SettingsCall, home: string, first: AgentSettings) {
  let read: AgentSettings | undefined = first;
  return () => {
    const settings = read ?? agentCallSettings(call);
    read = undefined;
    return extensionChoice(call, { home, settings });
  };
}

function flagTaken(name: string): AgentNotice {
  const message = `The flag --${name} of an extension cannot reach it: bonsai has one of that name.`;
  return { level: "warning", code: "flag_taken", message };
}

function noLog({ message }: Error): AgentNotice {
  return { level: "warning", code: "log_failed", message: `No debug log is written: ${message}.` };
}

interface AgentExtensionHostOptions {
  call: AgentCall;
  home: string;
  lifecycle: Lifecycle<LifecycleEvents>;
  shop: ModelAccess;
  seat: ActiveAgent;
  ui: FrontEndUI | undefined;
  /** Their values, once the command line was read again. */
  flags: () => ReadonlyMap<string, FlagValue>;
  onNotice: (notice: AgentNotice) => void;
}

/** What the extensions of an agent's call get of it. */
function agentExtensionHost(options: AgentExtensionHostOptions): ExtensionHost {
  const { call, home, lifecycle, seat, ui, flags, onNotice } = options;
  const { shelf, models } = options.shop;
  const { cwd } = call.io;
  return {
    mode: modes[String(call.options.mode)] ?? "print",
    cwd,
    lifecycle,
    ui,
    get control() {
      return seat.control;
    },
    session: () => seat.agent?.session,
    agent: () => seat.agent,
    models: async () => ({ catalogue: shelf.catalogue, keys: shelf.keys, client: models }),
    shutdown: () => seat.shutdown(),
    isProjectTrusted: () => isTrusted(cwd, home),
    flag: (name) => flags().get(name),
    onNotice,
    onEntry: (entry) => ui?.showEntry?.(entry),
  };
}

const modes: Readonly<Record<string, ExtensionMode>> = {
  text: "print",
  json: "json",
  rpc: "rpc",
  tui: "tui",
};

/** Where extensions find who is at work: they are loaded before there is an agent, and stay when another comes. */
class ActiveAgent {
  agent: Agent | undefined;
  control: SessionControl | undefined;
  readonly #ending = new AbortController();

  /** Aborted when an extension asked for the end: nothing new is begun. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  shutdown(): void {
    this.#ending.abort();
  }
}
