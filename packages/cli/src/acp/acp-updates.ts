import type * as acp from "@agentclientprotocol/sdk";
import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { sizeBeforeText } from "@bonsai-agent/compaction/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { readableSummary } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { compactionNotice } from "../views/compaction-notice.ts";
import type { ClientLink } from "./client-link.ts";
import { CallIds, contentOf, planOf, toolCall, toolResult } from "./tool-content.ts";

/** Sends the lifecycle events of one session as updates. Owner of its open tool calls and compactions. */
export class AcpUpdates {
  readonly #link: ClientLink;
  readonly #cwd: string;
  readonly #calls = new Map<string, { call: acp.ToolCall; terminalId?: string }>();
  readonly callIds = new CallIds();
  /** The summary that is made while the agent works. */
  #background: string | undefined;
  #compaction = "";
  #maskedResults = 0;
  #error: Error | undefined;
  #messageId = "";
  /** Counts finished compactions, so that a command knows whether its own was shown. */
  shownCompactions = 0;

  constructor(link: ClientLink, cwd: string) {
    this.#link = link;
    this.#cwd = cwd;
  }

  /** The only open call. */
  get openCall(): string | undefined {
    return this.#calls.size === 1 ? [...this.#calls.values()][0]?.call.toolCallId : undefined;
  }

  /** Shows a terminal of the client in an open call. */
  showTerminal(id: string, terminalId: string): void {
    const open = this.#calls.get(id);
    if (open === undefined) return;
    open.terminalId = terminalId;
    const { toolCallId } = open.call;
    this.#send({
      sessionUpdate: "tool_call_update",
      toolCallId,
      content: [{ type: "terminal", terminalId }],
    });
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    this.#listenToAnswers(lifecycle);
    this.#listenToCalls(lifecycle);
    this.#listenToCompactions(lifecycle);
    lifecycle.on("session_info_changed", ({ name }) =>
      this.#send({ sessionUpdate: "session_info_update", title: name ?? null }),
    );
  }

  #listenToAnswers(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_update", ({ assistantMessageEvent: event }) => {
      // A second start is a retry: the parts before it belong to no message.
      if (event.type === "start") this.#messageId = crypto.randomUUID();
      else if (event.type === "text") this.#link.chunk("agent_message_chunk", this.#messageId, event.delta);
      else if (event.type === "thinking")
        this.#link.chunk("agent_thought_chunk", this.#messageId, event.delta);
    });
  }

  #listenToCalls(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
      const call = toolCall(this.callIds.next(toolCallId), { name: toolName, args, cwd: this.#cwd });
      this.#calls.set(toolCallId, { call });
      this.#send({ sessionUpdate: "tool_call", ...call });
    });
    lifecycle.on("tool_execution_update", ({ toolCallId: id, partialResult }) => {
      const { call } = this.#calls.get(id) ?? {};
      const { toolCallId = id } = call ?? {};
      const content = partialResult.content.map((block) => contentOf(block, call?.kind));
      this.#send({ sessionUpdate: "tool_call_update", toolCallId, content });
    });
    lifecycle.on("tool_execution_end", ({ toolCallId, result, isError }) => {
      const { call, terminalId } = this.#calls.get(toolCallId) ?? {};
      this.#calls.delete(toolCallId);
      const ended = { ...result, isError, call, cwd: this.#cwd, hasTerminal: terminalId !== undefined };
      this.#send({ sessionUpdate: "tool_call_update", ...toolResult(call?.toolCallId ?? toolCallId, ended) });
      const entries = planOf(result.details);
      if (entries !== undefined) this.#send({ sessionUpdate: "plan", entries });
    });
  }

  #listenToCompactions(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("background_compaction", ({ state, detail }) => {
      if (state === "begun") this.#background = this.#beginCompaction();
      if (state !== "discarded" && state !== "failed") return;
      const status = state === "failed" ? "failed" : "cancelled";
      if (this.#background !== undefined) this.#update(this.#background, { status, error: detail });
      this.#background = undefined;
    });
    lifecycle.on("auto_compaction_start", () => {
      this.#maskedResults = 0;
      this.#error = undefined;
      this.#compaction = this.#background ?? this.#beginCompaction();
      this.#background = undefined;
    });
    lifecycle.on("session_mask", ({ entries }) => {
      this.#maskedResults = entries.length;
    });
    lifecycle.on("session_compact_failed", ({ error }) => {
      this.#error = error;
    });
    lifecycle.on("auto_compaction_end", ({ outcome, result }) => {
      this.shownCompactions += 1;
      this.#endCompaction(outcome, result);
    });
  }

  #beginCompaction(): string {
    const compactionId = crypto.randomUUID();
    this.#update(compactionId, { status: "in_progress" });
    return compactionId;
  }

  #endCompaction(outcome: CompactionOutcome, entry: CompactionEntry | undefined): void {
    const ended = { outcome, entry, maskedResults: this.#maskedResults, error: this.#error };
    const text = compactionNotice(ended)?.message ?? outcome.detail;
    if (!this.#showsCompactions) {
      if (outcome.status !== "skipped") this.#link.notice("info", text);
      return;
    }
    const { status, reason, tokensBefore, tokensAfter } = outcome;
    const isDone = status === "compacted" || status === "masked";
    this.#update(this.#compaction, {
      status: isDone ? "completed" : status === "failed" ? "failed" : "cancelled",
      ...(isDone ? { summary: summaryBlocks(text, entry) } : { error: text }),
      _meta: { bonsai: { reason, status, tokensBefore, tokensAfter, entryId: entry?.id } },
    });
  }

  /** Shows a compaction of a loaded session. */
  replayCompaction(entry: CompactionEntry): void {
    const text = `Compacted from ${sizeBeforeText(entry) ?? "an unknown size"}.`;
    this.#update(entry.id, { status: "completed", summary: summaryBlocks(text, entry) });
  }

  get #showsCompactions(): boolean {
    return this.#link.capabilities.session?.compaction != null;
  }

  #update(compactionId: string, update: Omit<acp.CompactionUpdate, "compactionId">): void {
    if (this.#showsCompactions) this.#send({ sessionUpdate: "compaction_update", compactionId, ...update });
  }

  #send(update: acp.SessionUpdate): undefined {
    void this.#link.send(update);
  }
}

function summaryBlocks(text: string, entry: CompactionEntry | undefined): acp.ContentBlock[] {
  const summary = entry === undefined ? [] : [readableSummary(entry.summary)];
  return [text, ...summary].map((each) => ({ type: "text", text: each }));
}
