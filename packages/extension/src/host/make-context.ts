import { modelNotice, summariserFor } from "@bonsai-agent/agent";
import {
  type CompactionOutcome,
  compactionSettings,
  readContext,
  sessionEstimate,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type {
  CompactOptions,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionContextUsage,
  WithSession,
} from "../api/extension-context.ts";
import { failureText, waitsForItself } from "./extension-errors.ts";
import type { SessionControl } from "./extension-host.ts";
import { modelRegistryOf, type OpenedModels } from "./model-registry.ts";
import { type ScopedHost, silentUi } from "./scoped-ui.ts";
import { sessionManagerOf } from "./session-manager.ts";

/** What handlers, tools and shortcuts get; made for each call. Its getters read the host when they are asked. */
export function makeContext(host: ScopedHost, extras: ContextExtras): ExtensionContext {
  const { extensionPath, models, signal, checkLoaded } = extras;
  const model = () => host.agent()?.model ?? host.model?.();
  const session = () => host.session() ?? notStarted(extensionPath);
  return {
    get ui() {
      return host.ui ?? silentUi(host, extensionPath);
    },
    get mode() {
      return host.mode;
    },
    get hasUI() {
      return host.ui !== undefined;
    },
    get cwd() {
      return host.cwd;
    },
    sessionManager: sessionManagerOf(session),
    modelRegistry: modelRegistryOf({ models, current: model, onNotice: (notice) => host.onNotice(notice) }),
    get model() {
      return model();
    },
    get thinkingLevel() {
      return host.agent()?.state.thinking;
    },
    signal,
    isIdle: () => host.agent()?.isBusy !== true,
    isProjectTrusted: () => host.isProjectTrusted(),
    hasPendingMessages() {
      const { steering = [], followUps = [] } = host.agent()?.state ?? {};
      return steering.length + followUps.length > 0;
    },
    abort() {
      checkLoaded("ctx.abort");
      // What is stopped tells of itself; nobody waits here.
      host
        .agent()
        ?.abort()
        .catch(() => {});
    },
    shutdown() {
      checkLoaded("ctx.shutdown");
      host.shutdown();
    },
    getContextUsage: () => contextUsage(host),
    compact(options) {
      checkLoaded("ctx.compact");
      requestCompaction(host, extras, options);
    },
    getSystemPrompt: () => host.agent()?.systemPrompt ?? "",
    summariserFor(asked) {
      const cacheKey = host.session()?.id;
      return summariserFor({
        models: models.get().client,
        model: asked,
        ...(cacheKey === undefined ? {} : { cacheKey }),
        onNotice: (notice) => host.onNotice(modelNotice(notice)),
      });
    },
  };
}

function notStarted(extensionPath: string): never {
  throw new BonsaiError({
    code: "extension_not_started",
    message: `${extensionPath} asked for the session while there was none yet.`,
    hint: "Ask for it in a handler, for instance in that of session_start.",
  });
}

type SessionMoves = Omit<ExtensionCommandContext, keyof ExtensionContext>;

/** What command handlers get. */
export function makeCommandContext(host: ScopedHost, extras: CommandContextExtras): ExtensionCommandContext {
  const moves = sessionMoves(host, extras);
  const context = makeContext(host, extras);
  // Copied as getters: a context is always of now.
  return Object.defineProperties(moves, Object.getOwnPropertyDescriptors(context)) as SessionMoves &
    ExtensionContext;
}

function sessionMoves(host: ScopedHost, extras: CommandContextExtras): SessionMoves {
  const control = (call: keyof SessionControl): SessionControl => {
    extras.checkLoaded(`ctx.${call}`);
    return host.control ?? noControl(extras.extensionPath);
  };
  /** Whoever follows gets a context of the session that is worked in then. */
  const followed = async (isDone: boolean, withSession: WithSession["withSession"]) => {
    if (!isDone) return { cancelled: true };
    const context = makeCommandContext(host, extras);
    await withSession?.(extras.adapt?.(context) ?? context);
    return { cancelled: false };
  };
  return {
    async waitForIdle() {
      const agent = host.agent();
      if (agent?.isWaitingForCaller === true) throw waitsForItself("waitForIdle");
      await agent?.idle();
    },
    async newSession({ parentSession, withSession } = {}) {
      const options = parentSession === undefined ? {} : { parentSession };
      return followed(await control("newSession").newSession(options), withSession);
    },
    async fork(entryId, { position = "before", withSession } = {}) {
      return followed(await control("fork").fork(entryId, { position }), withSession);
    },
    async navigateTree(targetId, options = {}) {
      return { cancelled: !(await control("navigateTree").navigateTree(targetId, options)) };
    },
    async switchSession(sessionPath, { withSession } = {}) {
      return followed(await control("switchSession").switchSession(sessionPath), withSession);
    },
    async reload() {
      extras.checkLoaded("ctx.reload");
      await extras.reload();
    },
  };
}

function noControl(extensionPath: string): never {
  throw new BonsaiError({
    code: "extension_session_fixed",
    message: `${extensionPath} wanted to go to another place or session, which cannot be done here.`,
    hint: "Run the command in an interactive session, or over RPC.",
  });
}

/** What a context is made of beside the host: for whom, and what it is given along with. */
interface ContextExtras {
  /** The extension's path, as notices name it. */
  extensionPath: string;
  models: OpenedModels;
  /** Throws where the extension was unloaded: what was kept of it acts no more. */
  checkLoaded(call: string): void;
  /** Of the event, the tool call or the command; undefined where nothing goes on. */
  signal?: AbortSignal | undefined;
  /** Lays an adapter's names over a context that this one makes. Default: as it is. */
  adapt?: (<Context extends ExtensionContext>(context: Context) => Context) | undefined;
}

interface CommandContextExtras extends ContextExtras {
  /** Loads all extensions anew. */
  reload(): Promise<unknown>;
}

/** Undefined before there is a session. */
function contextUsage(host: ScopedHost): ExtensionContextUsage | undefined {
  const agent = host.agent();
  if (agent !== undefined) {
    const { tokens, windowTokens = 0, percent = null } = agent.state.context;
    return { tokens, contextWindow: windowTokens, percent };
  }
  const session = host.session();
  if (session === undefined) return undefined;
  const settings = compactionSettings({});
  const { tokens } = readContext({ session, ...sessionEstimate({ session, settings }) });
  const contextWindow = host.model?.()?.contextWindow ?? 0;
  return { tokens, contextWindow, percent: contextWindow === 0 ? null : (tokens / contextWindow) * 100 };
}

/**
 * Asks for a compaction, which nobody waits for. Invariant: exactly one of `onComplete` and `onError` is called, once,
 * and not before the call has returned.
 */
function requestCompaction(
  host: ScopedHost,
  { extensionPath }: Pick<ContextExtras, "extensionPath">,
  { customInstructions, onComplete, onError }: CompactOptions = {},
): void {
  const report = (error: unknown) => {
    const message = failureText(`What ${extensionPath} does after a compaction`, error);
    host.onNotice({ level: "warning", code: "extension_callback_failed", message });
  };
  const told = async () => {
    const result = await compacted(host, customInstructions);
    if ("error" in result) await onError?.(result.error);
    else await onComplete?.(result);
  };
  told().catch(report);
}

type Compacted = Parameters<NonNullable<CompactOptions["onComplete"]>>[0] | { error: Error };

async function compacted(host: ScopedHost, focus: string | undefined): Promise<Compacted> {
  try {
    const agent = host.agent();
    // Nothing may be called before the caller's call is over.
    await Promise.resolve();
    if (agent === undefined) throw noAgent();
    const outcome = await agent.requestCompaction(focus === undefined ? {} : { focus });
    if (outcome.status === "masked") return { outcome };
    if (outcome.status !== "compacted") return { error: notCompacted(outcome) };
    const compactionEntry = agent.session.projection().compaction;
    return { outcome, ...(compactionEntry === undefined ? {} : { compactionEntry }) };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function noAgent(): BonsaiError {
  return new BonsaiError({
    code: "extension_needs_agent",
    message: "Nothing was compacted: no agent is at work on this session.",
    hint: "Compact from a prompt, or with `bonsai compact FILE`.",
  });
}

function notCompacted({ status, detail }: CompactionOutcome): BonsaiError {
  return new BonsaiError({
    code: "extension_not_compacted",
    message: `The compaction ${status === "failed" ? "failed" : `was ${status}`}: ${detail}`,
    hint: status === "skipped" ? "There is nothing to do." : "Look at what the message says, and ask again.",
  });
}
