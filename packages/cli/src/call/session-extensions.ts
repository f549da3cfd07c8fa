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
  /** Undefined for a command without a session. */
  session?: Session;
  /** Interrupts the command: questions then get no answer. */
  signal: AbortSignal;
  /** Finds the command's model after loading, because extensions can bring it. */
  findModel?: (models: ModelRegistry) => Promise<CatalogueModel>;
  /** Called before an extension shows or asks something. */
  onShow?: () => void;
}

/** The extensions of a command without an agent. */
interface SessionExtensions {
  lifecycle: Lifecycle<LifecycleEvents>;
  model: CatalogueModel | undefined;
  /** The models, including those of extensions. @throws BonsaiError for an unreadable catalogue or key file */
  models(): Promise<ModelRegistry>;
  /** Notifies and unloads the extensions. Call it before the session is closed. */
  close(): Promise<void>;
}

/**
 * Loads the extensions of a command and notifies them of the session. Undefined if there are none.
 * @throws BonsaiError for a broken extension of `-e`
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
  let opened: Promise<ModelRegistry> | undefined;
  const models = () => {
    opened ??= openModels({ io, home, settings, onNotice: (notice) => output.notify(notice) });
    return opened;
  };
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
      // Even after an interruption, extensions close their resources.
      const ending = { signal: AbortSignal.timeout(endGraceMs) };
      if (session !== undefined)
        await lifecycle.notify("session_shutdown", { type: "session_shutdown", reason: "quit" }, ending);
      end();
    },
  };
}

/** As long as an agent waits for its extensions at the end. */
const endGraceMs = 5_000;
