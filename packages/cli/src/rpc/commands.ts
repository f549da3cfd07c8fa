import type { PromptOptions } from "@bonsai-agent/agent";
import { redoLatestUndo, type UndoReport, undoLatestCompaction } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import {
  type CatalogueModel,
  type ThinkingLevel,
  thinkingLevelsOf,
  usableModels,
} from "@bonsai-agent/models";
import { nextThinkingLevel } from "@bonsai-agent/models/host";
import { piSource } from "@bonsai-agent/pi-adapter";
import type { AgentHost } from "../call/agent-host.ts";
import { errorJson } from "../call/event-json.ts";
import { warnUnknownCommand } from "../call/run-prompt.ts";
import { resolveEntryId } from "../call/session-file.ts";
import type { RpcCommandName, RpcData, RpcExtensions, RpcId, RpcParams } from "./protocol.ts";
import type { RpcHandlers, RpcWork } from "./runs.ts";
import { rpcModel, sessionHandlers } from "./session-commands.ts";

/** Long commands. The next command does not wait for them. */
export const overlapping: ReadonlySet<RpcCommandName> = new Set([
  "prompt",
  "steer",
  "follow_up",
  "compact",
  "navigate_tree",
  "merge",
  "bash",
]);

/** Commands that stop others. They overtake waiting commands. */
export const stopping: ReadonlySet<RpcCommandName> = new Set([
  "abort",
  "abort_bash",
  "abort_retry",
  "abort_compaction",
  "shutdown",
]);

/** Runs the commands. A handler throws the error of its response. */
export const rpcHandlers: RpcHandlers = {
  ...sessionHandlers,
  prompt,
  steer: (work, input) => queue(work, input, "steer"),
  follow_up: (work, input) => queue(work, input, "followUp"),
  abort: ({ host }) => host.stop(),
  clear_queue: ({ host }) => {
    const texts = host.agent.clearQueue();
    const of = (wanted: "steer" | "followUp") =>
      texts.filter(({ behavior }) => behavior === wanted).map(({ text }) => text);
    return { steering: of("steer"), followUp: of("followUp") };
  },
  set_steering_mode: ({ host }, { mode }) => host.agent.setQueueDelivery("steer", mode),
  set_follow_up_mode: ({ host }, { mode }) => host.agent.setQueueDelivery("followUp", mode),
  set_auto_retry: ({ host }, { enabled }) => host.app.models.client.setRetrying(enabled),
  abort_retry: ({ host, runs }) => (runs.isRetrying ? host.agent.abort() : undefined),
  compact,
  abort_compaction: ({ host }) => host.agent.cancelCompaction(),
  undo: (work) => changeCompaction(work, undoLatestCompaction),
  redo: (work) => changeCompaction(work, redoLatestUndo),
  set_auto_compaction: ({ host: { agent } }, { enabled }) =>
    agent.setCompactionSettings({ ...agent.settings.compaction, enabled }),
  navigate_tree: navigateTree,
  merge: mergeBranch,
  bash,
  abort_bash: ({ runs }) => runs.bash?.abort(),
  set_model: async ({ host }, { provider, modelId }) =>
    rpcModel(await host.setModel(`${provider}/${modelId}`)),
  cycle_model: async ({ host }) => {
    const { model } = await host.cycleModel(1);
    if (model === undefined) return null;
    const isScoped = host.app.settings.favoriteModels.length > 0;
    return { model: rpcModel(model), thinkingLevel: host.agent.state.thinking, isScoped };
  },
  get_available_models: async ({ host }) => ({
    models: (await usableModels(host.app.models)).map(({ model }) => rpcModel(model)),
  }),
  set_thinking_level: ({ host }, { level }) => host.agent.setThinking(level === "max" ? "xhigh" : level),
  cycle_thinking_level: async ({ host: { agent } }) => {
    const level = nextThinkingLevel(agent.model, agent.state.thinking);
    if (level !== undefined) await agent.setThinking(level);
    return level === undefined ? null : { level };
  },
  get_available_thinking_levels: ({ host }) => ({ levels: levelsOf(host.agent.model) }),
  get_commands: async ({ host: { app } }) => ({
    commands: [
      ...app.extensions.now.commands.map(({ name, description, extensionPath: path }) => ({
        name,
        description,
        source: "extension" as const,
        sourceInfo: { path, source: "local", scope: "user", origin: "top-level" },
      })),
      ...(await app.resources.commands()).map(({ name, description, argumentHint, source, path, place }) => ({
        name,
        description,
        ...(argumentHint !== undefined && { argumentHint }),
        source,
        sourceInfo: { path, ...piSource(place) },
      })),
    ],
  }),
  get_extensions: ({ host }) => extensionsOf(host),
  reload: async ({ host, runs }) => {
    runs.refuseWhileBusy(host);
    const { elapsedMs } = await host.app.extensions.reload();
    return { ...extensionsOf(host), elapsedMs };
  },
  shutdown: ({ host, shutdown }) => {
    host.stopMoving();
    shutdown();
  },
};

/** Clients of pi expect at least one level. */
function levelsOf(model: CatalogueModel): readonly ThinkingLevel[] {
  const levels = thinkingLevelsOf(model);
  return levels.length === 0 ? ["off"] : levels;
}

type Input = RpcParams<"steer">;

/** Runs a command of an extension at once, even while the agent works. */
async function prompt(
  work: RpcWork,
  { streamingBehavior, ...input }: RpcParams<"prompt">,
): Promise<{ queued: boolean }> {
  const extensions = work.host.app.extensions.now;
  if (!extensions.hasCommand(input.message)) {
    await warnUnknownCommand(work.host, input.message);
    return send(work, input, streamingBehavior);
  }
  await raceAbort(extensions.runCommand(input.message), work.stopped, () => undefined);
  return { queued: false };
}

/** @throws BonsaiError `rpc_command_invalid` for a command of an extension: it cannot wait in the queue */
function queue(work: RpcWork, input: Input, behavior: "steer" | "followUp"): Promise<{ queued: boolean }> {
  if (!work.host.app.extensions.now.hasCommand(input.message)) return send(work, input, behavior);
  throw new BonsaiError({
    code: "rpc_command_invalid",
    message: `${input.message.split(/\s/, 1)} is a command of an extension, which cannot wait in the queue.`,
    hint: "Send it with `prompt`. It runs at once, even while the agent works.",
  });
}

async function send(
  { host: { agent }, runs }: RpcWork,
  { message, images }: Input,
  behavior: PromptOptions["behavior"],
): Promise<{ queued: boolean }> {
  const queued = agent.isBusy;
  const run = agent.prompt(message, {
    source: "rpc",
    ...(behavior === undefined ? {} : { behavior }),
    ...(images === undefined ? {} : { images }),
  });
  await runs.accepted(run, queued);
  return { queued };
}

async function compact(
  { host: { agent } }: RpcWork,
  params: RpcParams<"compact">,
): Promise<RpcData["compact"]> {
  const { customInstructions: focus, useDigest = false, isAgain = false, firstKeptEntryId: cut } = params;
  const firstKeptEntryId = cut === undefined ? undefined : resolveEntryId(agent.session, cut);
  // As in pi: a manual compaction stops the work.
  if (agent.isBusy) await agent.abort();
  const outcome = await agent.compact({
    useDigest,
    replacesLatest: isAgain,
    ...(focus === undefined ? {} : { focus }),
    ...(firstKeptEntryId === undefined ? {} : { firstKeptEntryId }),
  });
  const written = { ...outcome, estimatedTokensAfter: outcome.tokensAfter };
  const { compaction } = agent.session.projection();
  if (outcome.status === "masked") return written;
  if (outcome.status === "compacted" && compaction !== undefined) {
    const { summary, firstKeptEntryId: firstKept, usage, details } = compaction;
    return { ...written, summary, firstKeptEntryId: firstKept, usage, details };
  }
  throw new BonsaiError({
    /** `compact` had no result. The message says why. */
    code: "rpc_compaction_failed",
    message: outcome.detail,
    hint: "Nothing changed. Try again, set `useDigest`, choose another model, or move in the tree.",
  });
}

function changeCompaction(
  { host: { agent, app }, runs, host }: RpcWork,
  change: typeof undoLatestCompaction,
): Promise<UndoReport> {
  runs.refuseWhileBusy(host);
  return change({
    session: agent.session,
    lifecycle: app.lifecycle,
    contextSize: () => agent.state.context,
  });
}

async function navigateTree(
  { host: { agent } }: RpcWork,
  {
    targetId,
    summarize = false,
    customInstructions: focus,
    useDigest = false,
    label,
  }: RpcParams<"navigate_tree">,
): Promise<RpcData["navigate_tree"]> {
  const target = resolveEntryId(agent.session, targetId);
  const { summaryEntry, ...moved } = await agent.navigate(target, {
    summarise: summarize,
    useDigest,
    ...(focus === undefined ? {} : { focus }),
    ...(label === undefined ? {} : { label }),
  });
  return { ...moved, summaryEntryId: summaryEntry?.id };
}

async function mergeBranch(
  { host: { agent } }: RpcWork,
  { branchId, customInstructions: focus, useDigest = false, label }: RpcParams<"merge">,
): Promise<RpcData["merge"]> {
  const { summaryEntry, ...merged } = await agent.merge(resolveEntryId(agent.session, branchId), {
    useDigest,
    ...(focus === undefined ? {} : { focus }),
    ...(label === undefined ? {} : { label }),
  });
  return { ...merged, summaryEntryId: summaryEntry?.id };
}

async function bash(
  { host, runs, note }: RpcWork,
  { command, excludeFromContext = false }: RpcParams<"bash">,
  id: RpcId | undefined,
): Promise<RpcData["bash"]> {
  const running = new AbortController();
  runs.bash = running;
  try {
    const { output, exitCode, cancelled, truncated, fullOutputPath } = await host.agent.runUserCommand(
      command,
      {
        excludeFromContext,
        signal: running.signal,
        onOutput: (delta) => note({ type: "bash_execution_update", id, delta }),
      },
    );
    return { output, exitCode: exitCode ?? undefined, cancelled, truncated, fullOutputPath };
  } finally {
    if (runs.bash === running) runs.bash = undefined;
  }
}

function extensionsOf({ app }: AgentHost): RpcExtensions {
  const { loaded, failed, flags } = app.extensions.now;
  return {
    loaded,
    failed: failed.map(({ path, error }) => ({ path, error: errorJson(error) })),
    flags: [...flags].map(([name, flag]) => ({ name, ...flag })),
  };
}
