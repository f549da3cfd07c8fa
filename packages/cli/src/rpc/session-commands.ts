import { resolve } from "node:path";
import { BonsaiError, callsIn, messageText, saidText } from "@bonsai-agent/messages";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { Entry, Session } from "@bonsai-agent/session";
import { asStored, isLeafRecord } from "@bonsai-agent/session/host";
import type { AgentHost } from "../call/agent-host.ts";
import { modelJson } from "../call/event-json.ts";
import { outputJson } from "../call/output.ts";
import { forkChoice, freshChoice, namedChoice } from "../call/session-choice.ts";
import { resolveEntryId, writeOutput } from "../call/session-file.ts";
import { FactCounter, freeAmong } from "../views/session-facts.ts";
import type {
  RpcData,
  RpcModel,
  RpcParams,
  RpcSession,
  RpcSessionStats,
  RpcState,
  RpcTreeNode,
} from "./protocol.ts";
import { type RpcHandlers, type RpcWork, SerialisedData } from "./runs.ts";

/** Commands that read the session, leave it for another one, or name it. */
export const sessionHandlers = {
  get_state: ({ host }) => stateOf(host),
  get_messages: ({ host }) => ({
    messages: host.agent.session.projection().items.map(({ message }) => message),
  }),
  get_entries: ({ host: { agent } }, { since }) => {
    const entries = storedEntries(agent.session);
    const at = since === undefined ? -1 : entries.findIndex(({ id }) => id === since);
    if (since !== undefined && at < 0) resolveEntryId(agent.session, since);
    return { entries: entries.slice(at + 1), leafId: agent.session.leafId };
  },
  get_tree: ({ host: { agent } }) =>
    new SerialisedData(
      `{"tree":${treeJson(treeOf(agent.session))},"leafId":${JSON.stringify(agent.session.leafId)}}`,
    ),
  get_session_stats: ({ host }) => statsOf(host),
  get_last_assistant_text: ({ host: { agent } }) => {
    const { items } = agent.session.projection();
    const answer = items.findLast(
      ({ message }) => message.role === "assistant" && messageText(message) !== "",
    );
    return { text: answer === undefined ? null : messageText(answer.message) };
  },
  get_fork_messages: ({ host }) => ({
    messages: host.agent.session.entries().flatMap((entry) => {
      const text = userText(entry) ?? "";
      return text === "" ? [] : [{ entryId: entry.id, text }];
    }),
  }),
  set_session_name: ({ host }, { name }) => host.setName(name),
  new_session: (work, { parentSession }) =>
    switchSession(work, ({ host }) => {
      const { file, leafId } = host.agent.session;
      // A session without an entry has no file.
      const before = leafId === null ? undefined : file;
      const parent = parentSession === undefined ? before : resolve(host.app.cwd, parentSession);
      return host.replace("new", freshChoice(host, parent));
    }),
  switch_session: (work, { sessionPath }) =>
    switchSession(work, async ({ host }) => host.replace("resume", await namedChoice(host, sessionPath))),
  fork,
  clone: (work) =>
    switchSession(work, ({ host }) => {
      const { leafId } = host.agent.session;
      if (leafId === null) throw notForked("an empty session");
      return host.fork(leafId, forkChoice(host, leafId), "at");
    }),
  export_html: exportHtml,
} satisfies Partial<RpcHandlers>;

export function rpcModel(model: CatalogueModel): RpcModel {
  const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const { contextWindow = 0, maxOutputTokens: maxTokens = 0, usdPerMillionTokens: cost = free } = model;
  // A query may hold a key.
  const baseUrl = model.baseUrl.split("?", 1)[0]!;
  return { ...modelJson(model), baseUrl, contextWindow, maxTokens, cost };
}

function stateOf({ agent }: AgentHost): RpcState {
  const { sessionId, sessionFile, sessionName, leafId, model, thinking, steering, followUps, ...state } =
    agent.state;
  return {
    sessionId,
    sessionFile,
    sessionName,
    leafId,
    model: rpcModel(model),
    thinkingLevel: thinking,
    isStreaming: state.isBusy,
    isCompacting: state.isCompacting,
    steeringMode: agent.queueDelivery.steer,
    followUpMode: agent.queueDelivery.followUp,
    autoCompactionEnabled: agent.settings.compaction.enabled,
    messageCount: agent.session.projection().items.length,
    pendingMessageCount: steering.length + followUps.length,
    context: state.context,
  };
}

function statsOf({ agent: { session, state }, app }: AgentHost): RpcSessionStats {
  const counter = new FactCounter();
  let toolCalls = 0;
  let totalMessages = 0;
  for (const { entry } of session.scan()) {
    counter.add(entry);
    if (entry.type !== "message") continue;
    totalMessages += 1;
    toolCalls += callsIn(entry.message).length;
  }
  const { entryCount, counts, usage, cost } = counter.facts();
  const { usd, certainty } = cost.cost(freeAmong([...app.models.catalogue.models, state.model]));
  const { input, output, cacheRead, cacheWrite } = usage;
  const { tokens, windowTokens = 0, percent = null } = state.context;
  const { user = 0, assistant = 0, toolResult = 0 } = counts;
  return {
    sessionId: session.id,
    sessionFile: session.file,
    name: session.name,
    entryCount,
    counts,
    ...{
      userMessages: user,
      assistantMessages: assistant,
      toolCalls,
      toolResults: toolResult,
      totalMessages,
    },
    tokens: { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite },
    cost: usd,
    costCertainty: certainty,
    contextUsage: { tokens, contextWindow: windowTokens, percent },
  };
}

/** All stored entries in file order, without moves of the leaf, which pi does not know. */
function storedEntries(session: Session): Entry[] {
  return session
    .entries()
    .filter((entry) => !isLeafRecord(entry))
    .map(asStored);
}

function treeOf(session: Session): RpcTreeNode[] {
  const nodes = new Map<string, RpcTreeNode>();
  const roots: RpcTreeNode[] = [];
  for (const entry of storedEntries(session)) {
    const label = session.label(entry.id);
    nodes.set(entry.id, { entry, children: [], ...(label !== undefined && { label }) });
  }
  for (const node of nodes.values()) (nodes.get(node.entry.parentId ?? "")?.children ?? roots).push(node);
  return roots;
}

/** JSON.stringify would overflow the stack on a tree of thousands of levels. */
function treeJson(roots: readonly RpcTreeNode[]): string {
  const parts: string[] = ["["];
  const open: (RpcTreeNode | string)[] = ["]", ...separated(roots)];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") parts.push(next);
    else {
      const { children, ...node } = next;
      parts.push(`${outputJson(node).slice(0, -1)},"children":[`);
      open.push("]}", ...separated(children));
    }
  }
  return parts.join("");
}

/** In reverse, for a stack. */
function separated(nodes: readonly RpcTreeNode[]): (RpcTreeNode | string)[] {
  return nodes.flatMap((node, index) => (index === 0 ? [node] : [",", node])).reverse();
}

async function switchSession(work: RpcWork, go: (work: RpcWork) => Promise<boolean>): Promise<RpcSession> {
  work.runs.refuseWhileBusy(work.host);
  const gone = await go(work);
  const { session } = work.host.agent;
  return { sessionId: session.id, sessionFile: session.file, cancelled: !gone };
}

async function fork(
  work: RpcWork,
  { entryId, position = "before" }: RpcParams<"fork">,
): Promise<RpcData["fork"]> {
  const { session } = work.host.agent;
  let text = "";
  const gone = await switchSession(work, ({ host }) => {
    const id = resolveEntryId(session, entryId);
    const said = userText(session.entry(id));
    if (position === "before" && said === undefined) throw notForked(entryId);
    text = position === "before" ? (said ?? "") : "";
    return host.fork(id, forkChoice(host, id, position), position);
  });
  return { ...gone, text };
}

/** Undefined if the entry is not a user message. */
function userText(entry: Entry | undefined): string | undefined {
  return entry?.type === "message" && entry.message.role === "user" ? saidText(entry.message) : undefined;
}

function notForked(what: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_fork_invalid",
    message: `Cannot fork from ${what}: a fork starts at a user message.`,
    hint: "Choose a message from `get_fork_messages`, or set `position` to `at`.",
  });
}

/** Writes the page of `bonsai session export`. */
async function exportHtml(
  { host: { agent, app } }: RpcWork,
  { outputPath }: RpcParams<"export_html">,
): Promise<{ path: string }> {
  const { session } = agent;
  const path = resolve(app.cwd, outputPath ?? `bonsai-session-${session.id}.html`);
  const { pageHtml, SessionPage } = await import("@bonsai-agent/page");
  const { livePageOptions } = await import("../call/page-source.ts");
  writeOutput(path, pageHtml(new SessionPage(session, livePageOptions(app))));
  return { path };
}
