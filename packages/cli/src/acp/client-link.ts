import type * as acp from "@agentclientprotocol/sdk";

type AskedMethod = "session/request_permission" | "elicitation/create";

/** Sends updates and questions about one session to the client. */
export class ClientLink {
  readonly capabilities: acp.ClientCapabilities;
  readonly client: acp.AgentContext;
  readonly #noticed = new Set<string>();
  #sessionId = "";
  /** Updates before the client knows the session. */
  #held: acp.SessionUpdate[] | undefined = [];
  /** A chunk that waits for the next turn of the event loop: pieces that arrive together are one update. */
  #waiting: { update: acp.ContentChunk & { sessionUpdate: ChunkKind }; text: string } | undefined;
  #isPaused = false;

  constructor(client: acp.AgentContext, capabilities: acp.ClientCapabilities) {
    this.client = client;
    this.capabilities = capabilities;
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  /** Sends the held updates, and later ones at once. */
  open(sessionId: string): void {
    this.#sessionId = sessionId;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const update of held) void this.send(update);
  }

  /** Resolves when the stream takes more. A client that has left gets nothing. */
  async send(update: acp.SessionUpdate): Promise<void> {
    this.#flush();
    await this.#notify(update);
  }

  /** Sends a piece of an answer. */
  chunk(sessionUpdate: ChunkKind, messageId: string, text: string): void {
    const { update } = this.#waiting ?? {};
    if (this.#waiting && update?.sessionUpdate === sessionUpdate && update.messageId === messageId) {
      this.#waiting.text += text;
      return;
    }
    this.#flush();
    this.#waiting = { update: { sessionUpdate, messageId, content: { type: "text", text } }, text };
    if (this.#isPaused) return;
    this.#flush();
    this.#isPaused = true;
    setImmediate(() => {
      this.#isPaused = false;
      this.#flush();
    });
  }

  /** Shows a text beside the conversation. A client without notices gets it as a message. */
  notice(severity: "info" | "warning" | "error", title: string): void {
    if (this.capabilities.session?.notices != null)
      void this.send({ sessionUpdate: "notice", severity, title });
    else this.message(`${severity === "info" ? "" : `${severity}: `}${title}`);
  }

  /** Shows the same notice once. */
  noticeOnce(title: string): void {
    if (this.#noticed.has(title)) return;
    this.#noticed.add(title);
    this.notice("warning", title);
  }

  /** Shows a text as a message of the agent. */
  message(text: string): void {
    const content = { type: "text" as const, text: `${text}\n\n` };
    void this.send({ sessionUpdate: "agent_message_chunk", messageId: crypto.randomUUID(), content });
  }

  /** Asks the client. Undefined without an answer. */
  async ask<Method extends AskedMethod>(
    method: Method,
    params: acp.ClientRequestParamsByMethod[Method],
    signal: AbortSignal,
  ): Promise<acp.ClientRequestResponsesByMethod[Method] | undefined> {
    this.#flush();
    if (signal.aborted) return undefined;
    try {
      return await this.client.request(method, params, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      });
    } catch {
      return undefined;
    }
  }

  #flush(): void {
    if (this.#waiting === undefined) return;
    const { update, text } = this.#waiting;
    this.#waiting = undefined;
    void this.#notify({ ...update, content: { type: "text", text } });
  }

  async #notify(update: acp.SessionUpdate): Promise<void> {
    if (this.#held !== undefined) this.#held.push(update);
    else await this.client.notify("session/update", { sessionId: this.#sessionId, update }).catch(() => {});
  }
}

type ChunkKind = "agent_message_chunk" | "agent_thought_chunk";
