import type { PromptOptions } from "@bonsai-agent/agent";
import { BonsaiError, knownUsd, messageText } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { usableModels } from "@bonsai-agent/models";
import type { AgentHost } from "../call/agent-host.ts";
import { errorJson, modelJson } from "../call/event-json.ts";
import { noticeUnknown } from "../call/run-prompt.ts";
import { forkChoice, freshChoice, namedChoice, type SessionChoice } from "../call/session-choice.ts";
import { resolveEntryId } from "../call/session-file.ts";
import { FactCounter, freeAmong } from "../views/session-facts.ts";
import { treeRows } from "../views/session-tree.ts";
import type {
  RpcCommandName,
  RpcData,
  RpcExtensions,
  RpcId,
  RpcNote,
  RpcParams,
  RpcSession,
  RpcSessionStats,
} from "./protocol.ts";
import type { PiClient, RpcRuns } from "./runs.ts";

/** What commands work on. */
export interface RpcWork {
  host: AgentHost;
  runs: RpcRuns;
  /** Aborted when the work is stopped: what does not end by itself is waited for no longer. */
  stopped: AbortSignal;
  /** What is under way for a client of pi's. */
  pi: PiClient;
  /** Writes a line beside responses and events. */
  note(line: RpcNote): void;
  /** Ends the mode once the response is written. */
  shutdown(): void;
}

type Handlers = {
  [Name in RpcCommandName]: (
    work: RpcWork,
    params: RpcParams<Name>,
    id?: RpcId,
  ) => RpcData[Name] | Promise<RpcData[Name]>;
};

/** Commands that take their time: the next one is not kept waiting. */
export const overlapping: ReadonlySet<RpcCommandName> = new Set([
  "prompt",
  "steer",
  "follow_up",
  "compact",
  "navigate_tree",
  "merge",
  "bash",
]);

/** What each command does. A handler throws the error of its response. */
export const rpcHandlers: Handlers = {
  prompt,
  steer: (work, input) => queue(work, input, "steer"),
  follow_up: (work, input) => queue(work, input, "followUp"),
  abort: async ({ host }) => {
    await host.stop();
    return undefined;
  },
  compact,
  abort_compaction: ({ host }) => {
    host.agent.cancelCompaction();
    return undefined;
  },
  navigate_tree: navigateTree,
  merge: mergeBranch,
  get_state: ({ host: { agent } }) => ({ ...agent.state, model: modelJson(agent.state.model) }),
  get_messages: ({ host }) => ({
    messages: host.agent.session.projection().items.map(({ message }) => message),
  }),
  get_entries: ({ host: { agent } }) => ({
    entries: agent.session.entries(),
    leafId: agent.session.leafId,
  }),
  get_tree: ({ host: { agent } }) => ({
    tree: [...treeRows(agent.session.tree({ isParsed: true }))],
    leafId: agent.session.leafId,
  }),
  get_session_stats: ({ host }) => sessionStats(host),
  get_last_assistant_text: ({ host }) => ({ text: lastText(host) }),
  set_model: async ({ host }, { provider, modelId }) => ({
    model: modelJson(await host.setModel(`${provider}/${modelId}`)),
  }),
  get_available_models: async ({ host }) => ({
    models: (await usableModels(host.app.models)).map(({ model }) => modelJson(model)),
  }),
  set_thinking_level: async ({ host }, { level }) => {
    await host.agent.setThinking(level);
    return { level };
  },
  set_session_name: async ({ host }, { name }) => {
    await host.setName(name);
    return { name };
  },
  new_session: (work) => goOnIn(work, ({ host }) => host.replace("new", newChoice(host))),
  switch_session: (work, { session }) =>
    goOnIn(work, ({ host }) => host.replace("resume", namedChoice(host, session))),
  fork: (work, { entryId }) =>
    goOnIn(work, ({ host }) => {
      const at = resolveEntryId(host.agent.session, entryId);
      return host.fork(at, forkChoice(host, at));
    }),
  get_commands: async ({ host: { app } }) => ({
    commands: [
      ...app.extensions.commands.map(({ name, description, extensionPath }) => ({
        name,
        description,
        source: "extension" as const,
        path: extensionPath,
      })),
      ...(await app.resources.commands()).map(({ name, description, argumentHint, source, path, place }) => ({
        name,
        description,
        ...(argumentHint !== undefined && { argumentHint }),
        source,
        path,
        origin: place.origin,
      })),
    ],
  }),
  get_extensions: ({ host }) => extensionsOf(host),
  reload: async ({ host, runs }) => {
    runs.refuseWhileBusy(host);
    const { elapsedMs } = await host.app.extensions.reload();
    return { ...extensionsOf(host), elapsedMs };
  },
  bash: ({ host, note }, { command, excludeFromContext = false }, id) =>
    host.agent.runUserCommand(command, { excludeFromContext, onOutput: bashUpdates(note, id) }),
  shutdown: ({ host, shutdown }) => {
    host.stopMoving();
    shutdown();
    return undefined;
  },
};

/** Writes the output of a command as it comes. */
export function bashUpdates(note: RpcWork["note"], id: RpcId | undefined): (delta: string) => void {
  return (delta) => note({ type: "bash_execution_update", id, delta });
}

type Input = Pick<RpcParams<"prompt">, "message" | "images">;

/** A command of an extension runs at once, also while the agent works: what it gives the agent, it queues itself. */
async function prompt(
  work: RpcWork,
  { streamingBehavior, ...input }: RpcParams<"prompt">,
): Promise<{ queued: boolean }> {
  const { extensions } = work.host.app;
  if (!extensions.hasCommand(input.message)) {
    await noticeUnknown(work.host, input.message);
    return send(work, input, streamingBehavior);
  }
  await raceAbort(extensions.runCommand(input.message), work.stopped, () => undefined);
  return { queued: false };
}

/** @throws BonsaiError `rpc_command_invalid` for a command of an extension: it cannot wait in the queue */
function queue(work: RpcWork, input: Input, behavior: "steer" | "followUp"): Promise<{ queued: boolean }> {
  if (!work.host.app.extensions.hasCommand(input.message)) return send(work, input, behavior);
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
  const outcome = await agent.compact({
    useDigest,
    replacesLatest: isAgain,
    ...(focus === undefined ? {} : { focus }),
    ...(cut === undefined ? {} : { firstKeptEntryId: resolveEntryId(agent.session, cut) }),
  });
  if (outcome.status !== "failed") return outcome;
  throw new BonsaiError({
    /** `compact` had no result. The message says why. */
    code: "rpc_compaction_failed",
    message: outcome.detail,
    hint: "Nothing changed. Try again, set `useDigest`, choose another model, or move in the tree.",
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

function sessionStats({ agent: { session, state }, app }: AgentHost): RpcSessionStats {
  const counter = new FactCounter();
  for (const { entry } of session.scan()) counter.add(entry);
  const { entryCount, counts, usage, cost } = counter.facts();
  const isFree = freeAmong([...app.models.catalogue.models, state.model]);
  return {
    sessionId: session.id,
    sessionFile: session.file,
    name: session.name,
    entryCount,
    counts,
    usage,
    costUsd: knownUsd(cost.cost(isFree)),
    context: state.context,
  };
}

function lastText({ agent }: AgentHost): string | null {
  const { items } = agent.session.projection();
  const answer = items.findLast(({ message }) => message.role === "assistant" && messageText(message) !== "");
  return answer === undefined ? null : messageText(answer.message);
}

async function goOnIn(work: RpcWork, go: (work: RpcWork) => Promise<boolean>): Promise<RpcSession> {
  work.runs.refuseWhileBusy(work.host);
  const gone = await go(work);
  const { session } = work.host.agent;
  return { sessionId: session.id, sessionFile: session.file, cancelled: !gone };
}

/** The session before is the parent; one without an entry has no file that could be named. */
function newChoice(host: AgentHost): SessionChoice {
  const { file, leafId } = host.agent.session;
  return freshChoice(host, leafId === null ? undefined : file);
}

function extensionsOf({ app: { extensions } }: AgentHost): RpcExtensions {
  return {
    loaded: extensions.loaded,
    failed: extensions.failed.map(({ path, error }) => ({ path, error: errorJson(error) })),
    flags: [...extensions.flags].map(([name, flag]) => ({ name, ...flag })),
  };
}
