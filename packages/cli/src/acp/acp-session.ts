import type * as acp from "@agentclientprotocol/sdk";
import type { RunResult } from "@bonsai-agent/agent";
import { BonsaiError, knownUsd, type Model } from "@bonsai-agent/messages";
import { UsageCounter } from "@bonsai-agent/session";
import { AgentHost } from "../call/agent-host.ts";
import { openAppContext } from "../call/app-context.ts";
import type { AgentCall } from "../call/invocation.ts";
import { sendPrompt } from "../call/run-prompt.ts";
import { slashCommands, textCommands } from "../call/text-commands.ts";
import { errorText } from "../views/error-text.ts";
import { freeAmong } from "../views/session-facts.ts";
import { AcpConfig } from "./acp-config.ts";
import { AcpUi } from "./acp-ui.ts";
import { AcpUpdates } from "./acp-updates.ts";
import type { ClientLink } from "./client-link.ts";
import { clientCommands, clientFiles } from "./client-tools.ts";
import { serversJson, withServers } from "./mcp-servers.ts";
import { promptContent } from "./prompt-content.ts";
import { replayBranch } from "./replay.ts";

interface OpenOptions {
  /** The call with the session's folder. */
  call: AgentCall;
  link: ClientLink;
  mcpServers: readonly acp.McpServer[];
}

/** One session of a client: its agent, extensions and servers. */
export class AcpSession {
  readonly #host: AgentHost;
  readonly #link: ClientLink;
  readonly #updates: AcpUpdates;
  readonly #questions: AcpUi;
  readonly #config: AcpConfig;
  readonly #cost = new UsageCounter();
  #counted = 0;
  #isClosed = false;
  /** Aborted to cancel the running prompt; undefined without one. */
  #prompt: AbortController | undefined;

  private constructor(host: AgentHost, link: ClientLink, updates: AcpUpdates, questions: AcpUi) {
    this.#host = host;
    this.#link = link;
    this.#updates = updates;
    this.#questions = questions;
    this.#config = new AcpConfig(host);
    const { lifecycle } = host.app;
    const changed = () => this.#sendUsage();
    for (const event of usageEvents) lifecycle.on(event, changed);
    const chosen = () => this.#sendConfig();
    lifecycle.on("model_select", chosen);
    lifecycle.on("thinking_level_select", chosen);
    const refuse = () => {
      link.noticeOnce("An extension cannot switch sessions in this editor. Open the session in the editor.");
      return { cancel: true };
    };
    lifecycle.on("session_before_switch", refuse);
    lifecycle.on("session_before_fork", refuse);
  }

  /** Opens the session of the call, with its extensions. The client gets no update before `replay` or `begin`. */
  static async open({ call, link, mcpServers }: OpenOptions): Promise<AcpSession> {
    const { cwd } = call.io;
    const updates = new AcpUpdates(link, cwd);
    const questions = new AcpUi(link, () => updates.openCall);
    let opened: AcpSession | undefined;
    const app = await openAppContext(withServers(call, mcpServers), {
      onNotice: ({ level, message }) => link.notice(level, message),
      ui: questions.ui,
      reviewCompaction: questions.reviewCompaction(() => opened?.model ?? { provider: "", id: "" }),
      reservedCommands: Object.keys(textCommands),
      listen: (lifecycle) => updates.listen(lifecycle),
      editor: clientFiles(link, cwd),
      ...(link.capabilities.terminal && {
        commands: clientCommands(link, (id, terminalId) => updates.showTerminal(id, terminalId)),
      }),
      ...(mcpServers.length > 0 && { flags: new Map([["mcp-config", serversJson(mcpServers)]]) }),
    });
    try {
      const host = await AgentHost.open(app);
      opened = new AcpSession(host, link, updates, questions);
      await host.start();
      return opened;
    } catch (error) {
      app.close();
      throw error;
    }
  }

  get model(): Model {
    return this.#host.agent.model;
  }

  get id(): string {
    return this.#host.agent.session.id;
  }

  /** @throws BonsaiError `acp_busy` */
  refuseWhileBusy(): void {
    if (this.#prompt === undefined && !this.#host.agent.isBusy) return;
    throw new BonsaiError({
      /** A client of the Agent Client Protocol sent a request for a session that is working. */
      code: "acp_busy",
      message: "This session is working on a prompt.",
      hint: "Wait for its answer, or send session/cancel first.",
    });
  }

  /** Sends the whole branch. */
  replay(): Promise<void> {
    this.#link.open(this.id);
    return replayBranch(this.#host.agent.session, { link: this.#link, updates: this.#updates });
  }

  /** Returns the answer to the request that opened the session. Updates follow the answer. */
  begin(): { modes: acp.SessionModeState; configOptions: acp.SessionConfigOption[] } {
    const { name } = this.#host.agent.session;
    setImmediate(() => void this.#announce(name));
    return { modes: this.#config.modes, configOptions: this.#config.options };
  }

  /** Sends what a client shows beside the conversation. A failure is a notice. */
  async #announce(title: string | undefined): Promise<void> {
    this.#link.open(this.id);
    try {
      if (title !== undefined) void this.#link.send({ sessionUpdate: "session_info_update", title });
      this.#sendUsage();
      await this.#sendCommands();
      // Local servers may take their time to list their models.
      await this.#config.readModels();
      this.#sendConfig();
    } catch (error) {
      if (!this.#isClosed) this.#link.notice("warning", errorText(error));
    }
  }

  /** Runs one prompt to its end. @throws BonsaiError `acp_busy`, `acp_content_unsupported`, and the run's error */
  async prompt({ prompt: blocks }: acp.PromptRequest, outer: AbortSignal): Promise<acp.PromptResponse> {
    this.refuseWhileBusy();
    this.#link.open(this.id);
    this.#prompt = new AbortController();
    const signal = AbortSignal.any([outer, this.#prompt.signal]);
    signal.addEventListener("abort", () => void this.#host.stop(), { once: true });
    try {
      const { status, error, answer } = await this.#run(blocks, signal);
      if (status === "failed") throw error;
      if (signal.aborted) return { stopReason: "cancelled" };
      if (answer?.stopReason === "length") return { stopReason: "max_tokens" };
      return { stopReason: answer?.rawStopReason === "refusal" ? "refusal" : "end_turn" };
    } catch (error) {
      if (signal.aborted) return { stopReason: "cancelled" };
      throw error;
    } finally {
      this.#link.flush();
      this.#prompt = undefined;
    }
  }

  async #run(blocks: readonly acp.ContentBlock[], signal: AbortSignal): Promise<RunResult> {
    const host = this.#host;
    const input = promptContent(blocks, host.app.cwd);
    const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(input.text) ?? [];
    if (Object.hasOwn(textCommands, name)) {
      const shownCompactions = () => this.#updates.shownCompactions;
      const text = await textCommands[name]!.run({ host, args: args.trim(), signal, shownCompactions });
      if (text !== undefined) this.#link.message(text);
      return { status: "handled" };
    }
    const isCommand = host.app.extensions.now.hasCommand(input.text);
    const result = await sendPrompt(host, input, { signal, source: "rpc" });
    // The command may have loaded others.
    if (isCommand) await this.#sendCommands();
    return result;
  }

  /** Cancels the running prompt. Without one, it does nothing. */
  cancel(): void {
    this.#prompt?.abort();
  }

  async choose({ configId, value }: acp.SetSessionConfigOptionRequest) {
    await this.#config.choose(configId, String(value));
    const { currentModeId } = this.#config.modes;
    if (configId === "mode") void this.#link.send({ sessionUpdate: "current_mode_update", currentModeId });
    return { configOptions: this.#config.options };
  }

  async setMode(value: string): Promise<void> {
    await this.choose({ sessionId: this.id, configId: "mode", value });
    this.#sendConfig();
  }

  #sendConfig(): undefined {
    if (this.#isClosed) return;
    const configOptions = this.#config.options;
    void this.#link.send({ sessionUpdate: "config_option_update", configOptions });
  }

  async #sendCommands(): Promise<void> {
    const commands = await slashCommands(this.#host);
    const availableCommands = commands.map(({ name, description, hint }) => ({
      ...{ name, description },
      ...(hint !== undefined && { input: { hint } }),
    }));
    await this.#link.send({ sessionUpdate: "available_commands_update", availableCommands });
  }

  /** Without a known window, there is nothing to compare with. */
  #sendUsage(): undefined {
    if (this.#isClosed) return;
    const { session, state } = this.#host.agent;
    const { tokens, windowTokens } = state.context;
    if (windowTokens === undefined || tokens === null) return;
    const { count } = session.index();
    for (; this.#counted < count; this.#counted += 1) this.#cost.add(session.entryAt(this.#counted)!);
    const amount = knownUsd(this.#cost.cost.cost(freeAmong([state.model])));
    const cost = amount === null ? {} : { cost: { amount, currency: "USD" } };
    void this.#link.send({ sessionUpdate: "usage_update", used: tokens, size: windowTokens, ...cost });
  }

  /** Stops the work and closes the session, its extensions and its servers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.cancel();
    this.#questions.close();
    try {
      await this.#host.stop();
      await this.#host.close();
    } finally {
      this.#host.app.close();
    }
  }
}

const usageEvents = ["turn_end", "auto_compaction_end", "session_compact_undo", "session_tree"] as const;
