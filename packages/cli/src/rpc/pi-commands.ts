import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BonsaiError, saidText } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  type ThinkingLevel,
  thinkingLevels,
  thinkingLevelsOf,
  usableModels,
} from "@bonsai-agent/models";
import { nextThinkingLevel } from "@bonsai-agent/models/host";
import { z } from "zod";
import { forkChoice, freshChoice } from "../call/session-choice.ts";
import { resolveEntryId, writeOutput } from "../call/session-file.ts";
import { bashUpdates, type RpcWork, rpcHandlers } from "./commands.ts";
import { compactionResult, piEntries, piMessages, piState, piStats, piTree } from "./pi-views.ts";
import type { RpcId } from "./protocol.ts";

const text = z.string();
const name = z.string().min(1);
const images = z.array(z.strictObject({ type: z.literal("image"), data: name, mimeType: name })).optional();
const input = { message: name, images };
const mode = z.enum(["all", "one-at-a-time"]);
const enabled = z.boolean();

/** The calls of pi's client, with their fields beside `type` and `id`; fields that are not here are let go. */
export const piCommands = {
  /** As in Bonsai, without data. */
  prompt: { ...input, streamingBehavior: z.enum(["steer", "followUp"]).optional() },
  /** As in Bonsai, without data. */
  steer: input,
  /** As in Bonsai, without data. */
  follow_up: input,
  abort: {},
  /** `steering` and `followUp`: the texts that waited. */
  clear_queue: {},
  /** `cancelled`. */
  new_session: { parentSession: name.optional() },
  /** pi's `RpcSessionState`. */
  get_state: {},
  /** The model itself. */
  set_model: { provider: name, modelId: name },
  /** The next favourite model, without favourites the next model that can be used, or null. */
  cycle_model: {},
  get_available_models: {},
  /** No data. `max` means `xhigh`. */
  set_thinking_level: { level: z.enum([...thinkingLevels, "max"]) },
  /** `level`, or null. */
  cycle_thinking_level: {},
  /** `levels`; only `off` for a model that does not think. */
  get_available_thinking_levels: {},
  /** `all` delivers the waiting texts together. */
  set_steering_mode: { mode },
  /** `all` delivers the waiting texts together. */
  set_follow_up_mode: { mode },
  /** Stops the work first. Fails if there was nothing to compact. */
  compact: { customInstructions: text.optional() },
  /** Until the program ends. */
  set_auto_compaction: { enabled },
  /** Until the program ends. */
  set_auto_retry: { enabled },
  /** Stops the run whose request waits for a retry. */
  abort_retry: {},
  /** `output`, `exitCode`, `cancelled`, `truncated`, `fullOutputPath?`. */
  bash: { command: name, excludeFromContext: z.boolean().optional() },
  abort_bash: {},
  /** pi's `SessionStats`. `cost` is 0 if it is unknown. */
  get_session_stats: {},
  /** `path` of the page. Never overwrites a file. */
  export_html: { outputPath: name.optional() },
  /** `cancelled`. */
  switch_session: { sessionPath: name },
  /** Takes a user message; the new session ends before it. `text`, `cancelled`. */
  fork: { entryId: name },
  /** Copies the session up to the current entry. `cancelled`. */
  clone: {},
  /** `messages`: `entryId` and `text` of each user message. */
  get_fork_messages: {},
  /** The entries as they are stored, without the records of moves. */
  get_entries: { since: name.optional() },
  /** `tree`: the roots, each with `entry`, `children` and `label?`. */
  get_tree: {},
  get_last_assistant_text: {},
  /** No data. */
  set_session_name: { name: z.string().trim().min(1) },
  get_messages: {},
  /** `commands`: `name`, `description?`, `source`, `sourceInfo`. */
  get_commands: {},
} as const satisfies Record<string, z.ZodRawShape>;

export type PiCommandName = keyof typeof piCommands;
type PiParams<Name extends PiCommandName> = z.output<z.ZodObject<(typeof piCommands)[Name]>>;

type PiHandlers = {
  [Name in PiCommandName]: (work: RpcWork, params: PiParams<Name>, id?: RpcId) => unknown;
};

/** Those that take their time: the next one is not kept waiting. */
export const overlappingOfPi: ReadonlySet<string> = new Set<PiCommandName>([
  "prompt",
  "steer",
  "follow_up",
  "compact",
  "bash",
]);

/** Those that stop things: they get through, whatever another waits for. */
export const stoppingOfPi: ReadonlySet<string> = new Set<PiCommandName>([
  "abort",
  "abort_bash",
  "abort_retry",
]);

const { prompt, steer, follow_up, abort, new_session, switch_session, set_session_name } = rpcHandlers;

/** What each call of pi's client does: what ours do, in the shapes that pi's types promise. */
export const piHandlers: PiHandlers = {
  prompt: nothing(prompt),
  steer: nothing(steer),
  follow_up: nothing(follow_up),
  abort,
  clear_queue: ({ host }) => {
    const texts = host.agent.clearQueue();
    const of = (wanted: string) =>
      texts.filter(({ behavior }) => behavior === wanted).map(({ text: queued }) => queued);
    return { steering: of("steer"), followUp: of("followUp") };
  },
  new_session: async (work, { parentSession }) => {
    if (parentSession === undefined) return onlyCancelled(await new_session(work, {}));
    work.runs.refuseWhileBusy(work.host);
    return onlyCancelled({
      cancelled: !(await work.host.replace(
        "new",
        freshChoice(work.host, resolve(work.host.app.cwd, parentSession)),
      )),
    });
  },
  get_state: ({ host }) => piState(host),
  set_model: async ({ host }, { provider, modelId }) =>
    (await shapes()).piModel(await host.setModel(`${provider}/${modelId}`)),
  cycle_model: cycleModel,
  get_available_models: async ({ host }) => {
    const { piModel } = await shapes();
    return { models: (await usableModels(host.app.models)).map(({ model }) => piModel(model)) };
  },
  set_thinking_level: ({ host }, { level }) => host.agent.setThinking(level === "max" ? "xhigh" : level),
  cycle_thinking_level: cycleThinking,
  get_available_thinking_levels: ({ host }) => ({ levels: levelsOf(host.agent.model) }),
  set_steering_mode: ({ host }, { mode: delivery }) => host.agent.setQueueDelivery("steer", delivery),
  set_follow_up_mode: ({ host }, { mode: delivery }) => host.agent.setQueueDelivery("followUp", delivery),
  compact,
  set_auto_compaction: ({ host: { agent } }, { enabled: isEnabled }) =>
    agent.setCompactionSettings({ ...agent.settings.compaction, enabled: isEnabled }),
  set_auto_retry: ({ host }, { enabled: isEnabled }) => host.app.models.client.setRetrying(isEnabled),
  abort_retry: async ({ host, pi }) => {
    if (pi.isRetrying) await host.agent.abort();
  },
  bash: runBash,
  abort_bash: ({ pi }) => pi.command?.abort(),
  get_session_stats: ({ host }) => piStats(host),
  export_html: exportHtml,
  switch_session: async (work, { sessionPath }) => {
    return onlyCancelled(await switch_session(work, { session: sessionPath }));
  },
  fork: async (work, { entryId }) => {
    const { host } = work;
    work.runs.refuseWhileBusy(host);
    const id = resolveEntryId(host.agent.session, entryId);
    const entry = host.agent.session.entry(id);
    const isUser = entry?.type === "message" && entry.message.role === "user";
    if (!isUser) throw notForked(entryId);
    return {
      text: saidText(entry.message),
      cancelled: !(await host.fork(id, forkChoice(host, id, "before"), "before")),
    };
  },
  clone: async (work) => {
    const { host } = work;
    work.runs.refuseWhileBusy(host);
    const { leafId } = host.agent.session;
    if (leafId === null) throw notForked("an empty session");
    return { cancelled: !(await host.fork(leafId, forkChoice(host, leafId), "at")) };
  },
  get_fork_messages: ({ host }) => ({ messages: userMessages(host.agent.session.entries()) }),
  get_entries: ({ host: { agent } }, { since }) => {
    const entries = piEntries(agent.session);
    const at = since === undefined ? -1 : entries.findIndex(({ id }) => id === since);
    if (since !== undefined && at < 0) resolveEntryId(agent.session, since);
    return { entries: entries.slice(at + 1), leafId: agent.session.leafId };
  },
  get_tree: ({ host: { agent } }) => ({ tree: piTree(agent.session), leafId: agent.session.leafId }),
  get_last_assistant_text: rpcHandlers.get_last_assistant_text,
  set_session_name: nothing(set_session_name),
  get_messages: ({ host }) => ({ messages: piMessages(host) }),
  get_commands: async ({ host: { app } }) => {
    const { piSource } = await shapes();
    const commands = [
      ...app.extensions.commands.map(({ name: command, description, extensionPath: path }) => ({
        name: command,
        description,
        source: "extension",
        sourceInfo: { path, source: "local", scope: "user", origin: "top-level" },
      })),
      ...(await app.resources.commands()).map(({ name: command, description, source, path, place }) => ({
        name: command,
        description,
        source,
        sourceInfo: { path, ...piSource(place) },
      })),
    ];
    return { commands };
  },
};

const shapes = () => import("../call/pi-shapes.ts");

/** The same without data: pi promises none. */
function nothing<Params>(handler: (work: RpcWork, params: Params) => unknown) {
  return async (work: RpcWork, params: Params): Promise<undefined> => {
    await handler(work, params);
  };
}

function onlyCancelled({ cancelled }: { cancelled: boolean }): { cancelled: boolean } {
  return { cancelled };
}

/** pi's client expects one at the least. */
function levelsOf(model: CatalogueModel): readonly ThinkingLevel[] {
  const levels = thinkingLevelsOf(model);
  return levels.length === 0 ? ["off"] : levels;
}

/** Null where there is no other. */
async function cycleThinking({ host: { agent } }: RpcWork): Promise<{ level: ThinkingLevel } | null> {
  const level = nextThinkingLevel(agent.model, agent.state.thinking);
  if (level === undefined) return null;
  await agent.setThinking(level);
  return { level };
}

/** Null where there is no other. */
async function cycleModel({ host }: RpcWork): Promise<object | null> {
  const { model: next } = await host.cycleModel(1);
  if (next === undefined) return null;
  const model = (await shapes()).piModel(next);
  const isScoped = host.app.settings.favoriteModels.length > 0;
  return { model, thinkingLevel: host.agent.state.thinking, isScoped };
}

/** Stops the work first, as pi does. */
async function compact(work: RpcWork, params: PiParams<"compact">): Promise<object> {
  const { agent } = work.host;
  if (agent.isBusy) await agent.abort();
  const outcome = await rpcHandlers.compact(work, params);
  const { compaction } = agent.session.projection();
  if (outcome.status === "compacted" && compaction !== undefined)
    return compactionResult(compaction, outcome);
  throw new BonsaiError({
    code: "rpc_compaction_failed",
    message: outcome.detail,
    hint: "Nothing changed. Try again, or choose another model.",
  });
}

async function runBash(
  { host, pi, note }: RpcWork,
  params: PiParams<"bash">,
  id: RpcId | undefined,
): Promise<object> {
  const { command, excludeFromContext = false } = params;
  const running = new AbortController();
  pi.command = running;
  try {
    const { signal } = running;
    const options = { excludeFromContext, signal, onOutput: bashUpdates(note, id) };
    const done = await host.agent.runUserCommand(command, options);
    const { output, exitCode, cancelled, truncated, fullOutputPath } = done;
    return { output, exitCode: exitCode ?? undefined, cancelled, truncated, fullOutputPath };
  } finally {
    if (pi.command === running) pi.command = undefined;
  }
}

/** The page of `bonsai session export`. */
async function exportHtml(
  { host }: RpcWork,
  { outputPath }: PiParams<"export_html">,
): Promise<{ path: string }> {
  const { session } = host.agent;
  const { app } = host;
  const path = resolve(app.cwd, outputPath ?? `bonsai-session-${session.id}.html`);
  if (existsSync(path))
    throw new BonsaiError({
      code: "rpc_file_exists",
      message: `The file ${path} already exists.`,
      hint: "Choose another `outputPath`, or delete the file.",
    });
  const { pageHtml, SessionPage } = await import("@bonsai-agent/page");
  const { pageOptions } = await import("../call/page-source.ts");
  const { home, models, settings, call } = app;
  const { catalogue, keys } = models;
  const from = { home, env: call.io.env, catalogue, keys, settings: settings.compaction };
  writeOutput(path, pageHtml(new SessionPage(session, pageOptions(from))));
  return { path };
}

function userMessages(entries: readonly Parameters<typeof isUserEntry>[0][]) {
  return entries.filter(isUserEntry).flatMap((entry) => {
    const said = entry.type === "message" ? saidText(entry.message) : "";
    return said === "" ? [] : [{ entryId: entry.id, text: said }];
  });
}

function isUserEntry(entry: ReturnType<RpcWork["host"]["agent"]["session"]["entries"]>[number]): boolean {
  return entry.type === "message" && entry.message.role === "user";
}

function notForked(what: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_fork_invalid",
    message: `Cannot fork from ${what}: a fork starts at a user message.`,
    hint: "Choose a message from `get_fork_messages`.",
  });
}
