import type * as acp from "@agentclientprotocol/sdk";
import type { LifecycleEvents } from "@bonsai-agent/agent";
import { sizeBeforeText } from "@bonsai-agent/compaction/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { readableSummary } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { onCompactionEnd } from "../call/compactions.ts";
import { compactionNotice, type EndedCompaction } from "../views/compaction-notice.ts";
import type { ClientLink } from "./client-link.ts";
import { type Arguments, contentOf, type EndedCall, planOf, toolCall, toolResult } from "./tool-content.ts";

interface OpenCall extends acp.ToolCall {
  terminalId?: string;
}

/** Sends the work of one session as updates. Owner of its open tool calls and compactions. */
export class AcpUpdates {
  readonly #link: ClientLink;
  readonly #cwd: string;
  readonly #open = new Map<string, OpenCall>();
  /** Calls by id: some providers repeat their ids. */
  readonly #counts = new Map<string, number>();
  /** The summary that is made while the agent works. */
  #background: string | undefined;
  #compaction = "";
  #messageId = "";
  /** Counts finished compactions, so that a command knows whether its own was shown. */
  shownCompactions = 0;

  constructor(link: ClientLink, cwd: string) {
    this.#link = link;
    this.#cwd = cwd;
  }

  /** The only open call. */
  get openCall(): string | undefined {
    const [first, ...others] = this.#open.values();
    return others.length === 0 ? first?.toolCallId : undefined;
  }

  startCall(id: string, name: string, args: Arguments): Promise<void> {
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    const call = toolCall(count === 1 ? id : `${id}#${count}`, { name, args, cwd: this.#cwd });
    this.#open.set(id, call);
    return this.#link.send({ sessionUpdate: "tool_call", ...call });
  }

  /** Shows a terminal of the client in an open call. */
  showTerminal(id: string, terminalId: string): void {
    const call = this.#open.get(id);
    if (call === undefined) return;
    call.terminalId = terminalId;
    this.#updateCall(call.toolCallId, [{ type: "terminal", terminalId }]);
  }

  #updateCall(toolCallId: string, content: acp.ToolCallContent[]): void {
    void this.#link.send({ sessionUpdate: "tool_call_update", toolCallId, content });
  }

  async endCall(id: string, result: EndedCall): Promise<void> {
    const call = this.#open.get(id);
    this.#open.delete(id);
    const { content, ...ended } = toolResult(result, call, this.#cwd);
    const shown = call?.terminalId === undefined ? { content } : {};
    const toolCallId = call?.toolCallId ?? id;
    await this.#link.send({ sessionUpdate: "tool_call_update", toolCallId, ...ended, ...shown });
    const entries = planOf(result.details);
    if (entries !== undefined) await this.#link.send({ sessionUpdate: "plan", entries });
  }

  /** The program ended before the open calls of a loaded session did. */
  async failOpenCalls(): Promise<void> {
    const content = [{ type: "text" as const, text: "The program ended before this call." }];
    for (const id of this.#open.keys()) await this.endCall(id, { content, isError: true });
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_info_changed", ({ name }) =>
      this.#send({ sessionUpdate: "session_info_update", title: name ?? null }),
    );
    const begin = (): undefined => {
      this.#messageId = crypto.randomUUID();
    };
    lifecycle.on("message_start", begin);
    lifecycle.on("message_update", ({ assistantMessageEvent: event }) => {
      // A second start is a retry: the parts before it belong to no message.
      if (event.type === "start") begin();
      if (event.type === "text") this.#link.chunk("agent_message_chunk", this.#messageId, event.delta);
      if (event.type === "thinking") this.#link.chunk("agent_thought_chunk", this.#messageId, event.delta);
    });
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
      void this.startCall(toolCallId, toolName, args);
    });
    lifecycle.on("tool_execution_update", ({ toolCallId, partialResult: { content } }) => {
      const call = this.#open.get(toolCallId);
      this.#updateCall(
        call?.toolCallId ?? toolCallId,
        content.map((block) => contentOf(block, call?.kind)),
      );
    });
    lifecycle.on("tool_execution_end", ({ toolCallId, result, isError }) => {
      void this.endCall(toolCallId, { ...result, isError });
    });
    this.#listenToCompactions(lifecycle);
  }

  #listenToCompactions(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("background_compaction", ({ state, detail: error }) => {
      if (state === "begun") this.#background = this.#beginCompaction();
      if (state !== "discarded" && state !== "failed") return;
      const status = state === "failed" ? "failed" : "cancelled";
      if (this.#background !== undefined) void this.#update(this.#background, { status, error });
      this.#background = undefined;
    });
    lifecycle.on("auto_compaction_start", () => {
      this.#compaction = this.#background ?? this.#beginCompaction();
      this.#background = undefined;
    });
    onCompactionEnd(lifecycle, (ended) => this.#endCompaction(ended));
  }

  #beginCompaction(): string {
    const id = crypto.randomUUID();
    void this.#update(id, { status: "in_progress" });
    return id;
  }

  #endCompaction(ended: EndedCompaction): void {
    const { status, detail } = ended.outcome;
    const text = compactionNotice(ended)?.message ?? detail;
    this.shownCompactions += 1;
    if (!this.#showsCompactions && status !== "skipped") this.#link.notice("info", text);
    if (status === "compacted" || status === "masked")
      void this.#update(this.#compaction, { status: "completed", summary: summaryBlocks(text, ended.entry) });
    else
      void this.#update(this.#compaction, {
        status: status === "failed" ? "failed" : "cancelled",
        error: text,
      });
  }

  /** Shows a compaction of a loaded session. */
  replayCompaction(entry: CompactionEntry): Promise<void> {
    const text = `Compacted from ${sizeBeforeText(entry) ?? "an unknown size"}.`;
    return this.#update(entry.id, { status: "completed", summary: summaryBlocks(text, entry) });
  }

  get #showsCompactions(): boolean {
    return this.#link.capabilities.session?.compaction != null;
  }

  async #update(compactionId: string, update: Omit<acp.CompactionUpdate, "compactionId">): Promise<void> {
    if (this.#showsCompactions)
      await this.#link.send({ sessionUpdate: "compaction_update", compactionId, ...update });
  }

  #send(update: acp.SessionUpdate): undefined {
    void this.#link.send(update);
  }
}

function summaryBlocks(text: string, entry: CompactionEntry | undefined): acp.ContentBlock[] {
  const summary = entry === undefined ? [] : [readableSummary(entry.summary)];
  return [text, ...summary].map((each) => ({ type: "text", text: each }));
}
