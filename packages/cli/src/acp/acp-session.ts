import type * as acp from "@agentclientprotocol/sdk";
import type { RunResult } from "@bonsai-agent/agent";
import { BonsaiError, knownUsd, type Model } from "@bonsai-agent/messages";
import { UsageCounter } from "@bonsai-agent/session";
import { AgentHost } from "../call/agent-host.ts";
import { type AppContext, openAppContext } from "../call/app-context.ts";
import type { AgentCall } from "../call/invocation.ts";
import type { PromptInput } from "../call/prompt-input.ts";
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

interface Parts {
  host: AgentHost;
  app: AppContext;
  link: ClientLink;
  updates: AcpUpdates;
  questions: AcpUi;
}

/** One session of a client: its agent, extensions and servers. */
export class AcpSession {
  readonly #parts: Parts;
  readonly #config: AcpConfig;
  readonly #cost = new UsageCounter();
  #counted = 0;
  #isClosed = false;
  /** Aborted to cancel the running prompt; undefined without one. */
  #prompt: AbortController | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.#config = new AcpConfig(parts.host);
  }

  /** Opens the session of the call, with its extensions. The client gets no update before `announce`. */
  static async open({ call, link, mcpServers }: OpenOptions): Promise<AcpSession> {
    const { cwd } = call.io;
    const updates = new AcpUpdates(link, cwd);
    const questions = new AcpUi(link, () => updates.openCall);
    let opened: AcpSession | undefined;
    const { fs, terminal } = link.capabilities;
    const app = await openAppContext(withServers(call, mcpServers), {
      onNotice: ({ level, message }) => link.notice(level, message),
      ui: questions.ui,
      reviewCompaction: questions.reviewCompaction(() => opened?.model ?? { provider: "", id: "" }),
      reservedCommands: Object.keys(textCommands),
      listen(lifecycle) {
        updates.listen(lifecycle);
        const changed = (): undefined => void opened?.sendUsage();
        for (const event of [
          "turn_end",
          "auto_compaction_end",
          "session_compact_undo",
          "session_tree",
        ] as const)
          lifecycle.on(event, changed);
        const chosen = (): undefined => opened?.sendConfig();
        lifecycle.on("model_select", chosen);
        lifecycle.on("thinking_level_select", chosen);
        const refuse = () => {
          link.noticeOnce(
            "An extension cannot switch sessions in this editor. Open the session in the editor.",
          );
          return { cancel: true };
        };
        lifecycle.on("session_before_switch", refuse);
        lifecycle.on("session_before_fork", refuse);
      },
      ...((fs?.readTextFile || fs?.writeTextFile) && { editor: clientFiles(link, cwd) }),
      ...(terminal && {
        commands: clientCommands({
          link,
          onTerminal: (id, terminalId) => updates.showTerminal(id, terminalId),
        }),
      }),
      ...(mcpServers.length > 0 && { flags: new Map([["mcp-config", serversJson(mcpServers)]]) }),
    });
    try {
      const host = await AgentHost.open(app);
      opened = new AcpSession({ host, app, link, updates, questions });
      await host.start();
      return opened;
    } catch (error) {
      app.close();
      throw error;
    }
  }

  get model(): Model {
    return this.#parts.host.agent.model;
  }

  get id(): string {
    return this.#parts.host.agent.session.id;
  }

  /** @throws BonsaiError `acp_busy` */
  refuseWhileBusy(): void {
    if (this.#prompt !== undefined || this.#parts.host.agent.isBusy) throw busy();
  }

  /** The answer to the request that opened the session. */
  get state(): { modes: acp.SessionModeState; configOptions: acp.SessionConfigOption[] } {
    return { modes: this.#config.modes, configOptions: this.#config.options };
  }

  /** Sends the whole branch. */
  replay(): Promise<void> {
    const { host, link, updates, app } = this.openLink().#parts;
    return replayBranch({ session: host.agent.session, link, updates, cwd: app.cwd });
  }

  /** Sends the updates that waited for a client that knows the session. */
  openLink(): this {
    this.#parts.link.open(this.id);
    return this;
  }

  /** Sends what a client shows beside the conversation, once it knows the session. A failure is a notice. */
  async announce({ isLoaded }: { isLoaded: boolean }): Promise<void> {
    if (this.#isClosed) return;
    const { host, link } = this.openLink().#parts;
    try {
      const { name } = host.agent.session;
      // The name of a new session has an event.
      if (isLoaded && name !== undefined)
        void link.send({ sessionUpdate: "session_info_update", title: name });
      this.sendUsage();
      await this.#sendCommands();
      // Local servers may take their time to list their models.
      await this.#config.readModels();
      this.sendConfig();
    } catch (error) {
      if (!this.#isClosed) link.notice("warning", errorText(error));
    }
  }

  /** Runs one prompt to its end. @throws BonsaiError `acp_busy`, `acp_content_unsupported`, and the run's error */
  async prompt(blocks: readonly acp.ContentBlock[], outer: AbortSignal): Promise<acp.PromptResponse> {
    this.refuseWhileBusy();
    const prompt = new AbortController();
    this.#prompt = prompt;
    const { host, app } = this.#parts;
    const signal = AbortSignal.any([outer, prompt.signal]);
    const stop = () => void host.stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const result = await this.#run(promptContent(blocks, app.cwd), signal);
      if (result.status === "failed" && !signal.aborted) throw result.error;
      return { stopReason: signal.aborted ? "cancelled" : stopReason(result) };
    } catch (error) {
      if (signal.aborted) return { stopReason: "cancelled" };
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#prompt = undefined;
    }
  }

  async #run(input: PromptInput, signal: AbortSignal): Promise<RunResult> {
    const { host, app, link, updates } = this.#parts;
    const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(input.text) ?? [];
    if (Object.hasOwn(textCommands, name)) {
      const shownCompactions = () => updates.shownCompactions;
      const shown = await textCommands[name]!.run({ host, args: args.trim(), signal, shownCompactions });
      if (shown !== undefined) link.message(shown);
      return { status: "handled" };
    }
    const isCommand = app.extensions.now.hasCommand(input.text);
    const result = await sendPrompt(host, input, { signal, source: "rpc" });
    // The command may have loaded others.
    if (isCommand) await this.#sendCommands();
    return result;
  }

  /** Cancels the running prompt. Without one, it does nothing. */
  cancel(): void {
    this.#prompt?.abort();
  }

  async choose(id: string, value: unknown): Promise<acp.SessionConfigOption[]> {
    await this.#config.choose(id, value);
    if (id === "mode") this.#sendMode();
    return this.#config.options;
  }

  setMode(id: string): void {
    this.#config.setMode(id);
    this.#sendMode();
    this.sendConfig();
  }

  #sendMode(): void {
    const { currentModeId } = this.#config.modes;
    void this.#parts.link.send({ sessionUpdate: "current_mode_update", currentModeId });
  }

  sendConfig(): undefined {
    if (this.#isClosed) return;
    void this.#parts.link.send({
      sessionUpdate: "config_option_update",
      configOptions: this.#config.options,
    });
  }

  async #sendCommands(): Promise<void> {
    const commands = await slashCommands(this.#parts.host);
    const availableCommands = commands.map(({ name, description, hint }) => ({
      ...{ name, description },
      ...(hint !== undefined && { input: { hint } }),
    }));
    await this.#parts.link.send({ sessionUpdate: "available_commands_update", availableCommands });
  }

  /** Without a known window, there is nothing to compare with. */
  sendUsage(): void {
    if (this.#isClosed) return;
    const { host, link } = this.#parts;
    const { session, state } = host.agent;
    const { tokens, windowTokens } = state.context;
    if (windowTokens === undefined || tokens === null) return;
    const { count } = session.index();
    for (; this.#counted < count; this.#counted += 1) {
      const entry = session.entryAt(this.#counted);
      if (entry !== undefined) this.#cost.add(entry);
    }
    const amount = knownUsd(this.#cost.cost.cost(freeAmong([state.model])));
    void link.send({
      sessionUpdate: "usage_update",
      used: tokens,
      size: windowTokens,
      ...(amount !== null && { cost: { amount, currency: "USD" } }),
    });
  }

  /** Stops the work and closes the session, its extensions and its servers. */
  async close(): Promise<void> {
    const { host, app, questions } = this.#parts;
    this.#isClosed = true;
    this.cancel();
    questions.close();
    try {
      await host.stop();
      await host.close();
    } finally {
      app.close();
    }
  }
}

function stopReason({ answer }: RunResult): acp.StopReason {
  if (answer?.stopReason === "length") return "max_tokens";
  return answer?.rawStopReason === "refusal" ? "refusal" : "end_turn";
}

function busy(): BonsaiError {
  return new BonsaiError({
    /** A client of the Agent Client Protocol sent a request for a session that is working. */
    code: "acp_busy",
    message: "This session is working on a prompt.",
    hint: "Wait for its answer, or send session/cancel first.",
  });
}
