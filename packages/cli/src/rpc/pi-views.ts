import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { callsIn, type Message } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import { asStored, isLeafRecord } from "@bonsai-agent/session/host";
import type { AgentHost } from "../call/agent-host.ts";
import { FactCounter, freeAmong } from "../views/session-facts.ts";

/** `get_state` as pi's types have it. */
export async function piState({ agent }: AgentHost): Promise<object> {
  const { piModel } = await import("../call/pi-shapes.ts");
  const { sessionId, sessionFile, sessionName, model, thinking, steering, followUps, ...state } = agent.state;
  return {
    model: piModel(model),
    thinkingLevel: thinking,
    isStreaming: state.isBusy,
    isCompacting: state.isCompacting,
    steeringMode: agent.queueDelivery.steer,
    followUpMode: agent.queueDelivery.followUp,
    sessionFile,
    sessionId,
    sessionName,
    autoCompactionEnabled: agent.settings.compaction.enabled,
    messageCount: agent.session.projection().items.length,
    pendingMessageCount: steering.length + followUps.length,
  };
}

/** `get_session_stats` as pi's types have it; a cost that is not known counts as 0. */
export function piStats({ agent: { session, state }, app }: AgentHost): object {
  const counter = new FactCounter();
  const messages = { userMessages: 0, assistantMessages: 0, toolCalls: 0, toolResults: 0, totalMessages: 0 };
  for (const { entry } of session.scan()) {
    counter.add(entry);
    if (entry.type !== "message") continue;
    const { role } = entry.message;
    messages.totalMessages += 1;
    if (role === "user") messages.userMessages += 1;
    if (role === "assistant") messages.assistantMessages += 1;
    if (role === "toolResult") messages.toolResults += 1;
    messages.toolCalls += callsIn(entry.message).length;
  }
  const { usage, cost } = counter.facts();
  const { usd, certainty } = cost.cost(freeAmong([...app.models.catalogue.models, state.model]));
  const { input, output, cacheRead, cacheWrite } = usage;
  const { tokens, windowTokens = 0, percent = null } = state.context;
  return {
    sessionFile: session.file,
    sessionId: session.id,
    ...messages,
    tokens: { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite },
    cost: usd,
    costCertainty: certainty,
    contextUsage: { tokens, contextWindow: windowTokens, percent },
  };
}

/** What the model sees, oldest first. */
export function piMessages({ agent }: AgentHost): Message[] {
  return agent.session.projection().items.map(({ message }) => message);
}

/** All entries in file order, as their lines have them; where the leaf was moved to, pi has no entry for. */
export function piEntries(session: Session): Entry[] {
  return session
    .entries()
    .filter((entry) => !isLeafRecord(entry))
    .map(asStored);
}

interface PiTreeNode {
  entry: Entry;
  children: PiTreeNode[];
  label?: string;
}

/** The same as a tree: the roots, each with its children. */
export function piTree(session: Session): PiTreeNode[] {
  const nodes = new Map<string, PiTreeNode>();
  const roots: PiTreeNode[] = [];
  for (const entry of piEntries(session)) {
    const label = session.label(entry.id);
    nodes.set(entry.id, { entry, children: [], ...(label !== undefined && { label }) });
  }
  for (const node of nodes.values()) (nodes.get(node.entry.parentId ?? "")?.children ?? roots).push(node);
  return roots;
}

/** `compact` as pi's types have it. */
export function compactionResult(entry: CompactionEntry, { tokensAfter }: CompactionOutcome): object {
  const { summary, firstKeptEntryId, tokensBefore, usage, details } = entry;
  return { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter: tokensAfter, usage, details };
}
