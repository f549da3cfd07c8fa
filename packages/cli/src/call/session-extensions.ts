import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { compactionEventRules } from "@bonsai-agent/compaction";
import type { ExtensionHost } from "@bonsai-agent/extension/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel } from "@bonsai-agent/models";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { extensionChoice, mayHaveExtensions } from "./extension-choice.ts";
import { CallExtensions } from "./extensions.ts";
import type { Invocation } from "./invocation.ts";
import { type ModelRegistry, openModels } from "./model-choice.ts";
import { notifyUntrusted } from "./project.ts";
import { pauseTimersWhileAsking } from "./questions.ts";
import { agentCallSettings } from "./settings.ts";
import { terminalUi } from "./terminal-ui.ts";
import { isProjectTrusted } from "./trust.ts";

interface OpenSessionExtensionsOptions {
  invocation: Pick<Invocation, "io" | "options" | "output">;
  /** Undefined for a command that opens no session. */
  session?: Session;
  /** Interrupts the command: questions are then answered as if nobody were there. */
  signal: AbortSignal;
  /** The model that the command was given; asked once the extensions, which may bring it, are loaded. */
  findModel?: (models: ModelRegistry) => Promise<CatalogueModel>;
  /** Called before an extension shows or asks something. */
  onShow?: () => void;
}

/** The extensions of a command that works on a session without an agent. */
interface SessionExtensions {
  /** For what is done with the session. */
  lifecycle: Lifecycle<LifecycleEvents>;
  /** What `findModel` found. */
  model: CatalogueModel | undefined;
  /** The models, those of extensions included. @throws BonsaiError for a catalogue or keys that cannot be read */
  models(): Promise<ModelRegistry>;
  /** Notifies the extensions, and unloads them. To be called before the session is closed. */
  close(): Promise<void>;
}

/**
 * Loads the extensions that flags, settings and folders name, and notifies them of the session. Undefined where none can
 * be found: then nothing was loaded.
 * @throws BonsaiError where one that `-e` names cannot be loaded
 */
export async function openSessionExtensions({
  invocation,
  session,
  signal,
  findModel,
  onShow,
}: OpenSessionExtensionsOptions): Promise<SessionExtensions | undefined> {
  const { io, output } = invocation;
  const home = bonsaiHome(io.env);
  const settings = agentCallSettings(invocation);
  notifyUntrusted(invocation, ["extensions"]);
  const choice = () => extensionChoice(invocation, settings);
  if (!mayHaveExtensions(choice())) return undefined;
  const onNotice: ExtensionHost["onNotice"] = (notice) => output.notify(notice);
  const terminal = terminalUi({ io, output, signal, ...(onShow && { onShow }) });
  const { ui, setTimer } = pauseTimersWhileAsking(terminal);
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    setTimer,
    passesSlowHandlers: new Set(Object.keys(compactionEventRules)),
    onNotice: (notice) => onNotice(extensions.noticeOf(notice)),
  });
  const models = once(() => openModels({ io, home, settings, onNotice: (notice) => output.notify(notice) }));
  let model: CatalogueModel | undefined;
  const host: ExtensionHost = {
    mode: "print",
    cwd: io.cwd,
    lifecycle,
    ui,
    session: () => session,
    agent: () => undefined,
    model: () => model,
    models,
    // The command ends by itself.
    shutdown: () => {},
    isProjectTrusted: () => isProjectTrusted(invocation),
    flag: () => undefined,
    onNotice,
  };
  const extensions = new CallExtensions({ choice, host });
  const end = () => {
    extensions.unload();
    ui?.close();
  };
  try {
    await extensions.open();
    model = await findModel?.(await models());
  } catch (error) {
    end();
    throw error;
  }
  if (session !== undefined)
    await lifecycle.notify("session_start", { type: "session_start", reason: "startup" }, { signal });
  return {
    lifecycle,
    models,
    model,
    async close() {
      // Also after an interruption: who opened something at the start closes it now.
      const ending = { signal: AbortSignal.timeout(endGraceMs) };
      if (session !== undefined)
        await lifecycle.notify("session_shutdown", { type: "session_shutdown", reason: "quit" }, ending);
      end();
    },
  };
}

/** As long as an agent waits for its extensions at the end. */
const endGraceMs = 5_000;

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
