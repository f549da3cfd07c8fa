import { type CompactOptions as AgentCompactOptions, summariserFor } from "@bonsai-agent/agent";
import { modelNotice } from "@bonsai-agent/agent/host";
import { type CompactionOutcome, compactionSettings, readContext } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type {
  CompactOptions,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionContextUsage,
  WithSession,
} from "../api/extension-context.ts";
import { deadlockError, failureText } from "./extension-errors.ts";
import type { ExtensionHost, SessionControl } from "./extension-host.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { modelRegistryOf } from "./model-registry.ts";
import { sessionManagerOf } from "./session-manager.ts";

/** The context of handlers, tools and shortcuts. Its getters read the host's current state. */
export function makeContext(runtime: ExtensionRuntime, signal: AbortSignal | undefined): ExtensionContext {
  const { host, scope, models } = runtime;
  const model = () => host.agent()?.model ?? host.model?.();
  const session = () => {
    const open = host.session();
    if (open === undefined) throw scope.notStarted("ctx.sessionManager");
    return open;
  };
  return {
    get ui() {
      return runtime.ui();
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
      scope.checkLoaded("ctx.abort");
      // The stopped run reports its own result.
      host
        .agent()
        ?.abort()
        .catch(() => {});
    },
    shutdown() {
      scope.checkLoaded("ctx.shutdown");
      host.shutdown();
    },
    getContextUsage: () => contextUsage(host),
    compact(options) {
      scope.checkLoaded("ctx.compact");
      requestCompaction(runtime, options);
    },
    getSystemPrompt: () => host.agent()?.systemPrompt ?? "",
    summariserFor: (asked) =>
      summariserFor({
        models: models().client,
        model: asked,
        cacheKey: host.session()?.id,
        onNotice: (notice) => host.onNotice(modelNotice(notice)),
      }),
  };
}

type SessionMoves = Omit<ExtensionCommandContext, keyof ExtensionContext>;

/** The context of command handlers. */
export function makeCommandContext(runtime: ExtensionRuntime): ExtensionCommandContext {
  const context = makeContext(runtime, undefined);
  // Copies the getters, not their values.
  return Object.defineProperties(
    sessionMoves(runtime),
    Object.getOwnPropertyDescriptors(context),
  ) as SessionMoves & ExtensionContext;
}

function sessionMoves(runtime: ExtensionRuntime): SessionMoves {
  const { host, scope } = runtime;
  const control = (call: keyof SessionControl): SessionControl => {
    scope.checkLoaded(`ctx.${call}`);
    if (host.control !== undefined) return host.control;
    throw new BonsaiError({
      code: "extension_session_fixed",
      message: `${scope.source} tried to switch entries or sessions, which this mode does not support.`,
      hint: "Run the command in an interactive session, or over RPC.",
    });
  };
  /** Calls `withSession` with a context of the new session. */
  const switchedTo = async (isDone: boolean, withSession: WithSession["withSession"]) => {
    if (isDone) await withSession?.(runtime.commandContext());
    return { cancelled: !isDone };
  };
  return {
    async waitForIdle() {
      const agent = host.agent();
      if (agent?.isWaitingForCaller === true) throw deadlockError("waitForIdle");
      await agent?.idle();
    },
    async newSession({ parentSession, withSession } = {}) {
      const options = parentSession === undefined ? {} : { parentSession };
      return switchedTo(await control("newSession").newSession(options), withSession);
    },
    async fork(entryId, { position = "before", withSession } = {}) {
      return switchedTo(await control("fork").fork(entryId, { position }), withSession);
    },
    async navigateTree(targetId, options = {}) {
      return { cancelled: !(await control("navigateTree").navigateTree(targetId, options)) };
    },
    async mergeBranch(branchId, options = {}) {
      return control("mergeBranch").mergeBranch(branchId, options);
    },
    async switchSession(sessionPath, { withSession } = {}) {
      return switchedTo(await control("switchSession").switchSession(sessionPath), withSession);
    },
    async reload() {
      scope.checkLoaded("ctx.reload");
      await runtime.reload();
    },
  };
}

/** Undefined without a session. */
function contextUsage(host: ExtensionHost): ExtensionContextUsage | undefined {
  const agent = host.agent();
  if (agent !== undefined) {
    const { tokens, windowTokens = 0, percent = null } = agent.state.context;
    return { tokens, contextWindow: windowTokens, percent };
  }
  const session = host.session();
  if (session === undefined) return undefined;
  const settings = compactionSettings({});
  const { tokens } = readContext({ session, estimator: settings.estimator, model: host.model?.() });
  const contextWindow = host.model?.()?.contextWindow ?? 0;
  return { tokens, contextWindow, percent: contextWindow === 0 ? null : (tokens / contextWindow) * 100 };
}

/**
 * Requests a compaction and returns at once. Invariant: exactly one of `onComplete` and `onError` is called, once,
 * after this call has returned.
 */
function requestCompaction(
  { host, scope }: ExtensionRuntime,
  { customInstructions: focus, onComplete, onError, firstKeptEntryId, isAgain }: CompactOptions = {},
): void {
  const run = async () => {
    const result = await compacted(host, {
      ...(focus !== undefined && { focus }),
      ...(firstKeptEntryId !== undefined && { firstKeptEntryId }),
      ...(isAgain !== undefined && { replacesLatest: isAgain }),
    });
    if ("error" in result) await onError?.(result.error);
    else await onComplete?.(result);
  };
  run().catch((error: unknown) =>
    host.onNotice({
      level: "warning",
      /** A callback of an extension's `compact` threw. */
      code: "extension_callback_failed",
      message: failureText(`The compaction callback of ${scope.source}`, error),
    }),
  );
}

type Compacted = Parameters<NonNullable<CompactOptions["onComplete"]>>[0] | { error: Error };

async function compacted(host: ExtensionHost, asked: AgentCompactOptions): Promise<Compacted> {
  try {
    const agent = host.agent();
    // Lets the caller's call return first.
    await Promise.resolve();
    if (agent === undefined)
      throw new BonsaiError({
        code: "extension_needs_agent",
        message: "Could not compact: no agent is running on this session.",
        hint: "Compact in a prompt, or run `bonsai compact FILE`.",
      });
    const outcome = await agent.requestCompaction({ ...asked, ignoresRecentFailure: false });
    if (outcome.status === "masked") return { outcome };
    if (outcome.status !== "compacted") return { error: notCompacted(outcome) };
    return { outcome, compactionEntry: agent.session.projection().compaction };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function notCompacted({ status, detail }: CompactionOutcome): BonsaiError {
  return new BonsaiError({
    code: "extension_not_compacted",
    message: `The compaction ${status === "failed" ? "failed" : `was ${status}`}: ${detail}`,
    hint: status === "skipped" ? "No action is needed." : "Fix the cause, then try again.",
  });
}
