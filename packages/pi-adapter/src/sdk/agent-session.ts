import type { Agent, AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { ExtensionMode, Extensions } from "@bonsai-agent/extension/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError, type ImageContent, type UserContent } from "@bonsai-agent/messages";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { levelOf } from "../models/requests.ts";
import type { PiSessionManager } from "../modules/session-manager.ts";
import type { ModelRuntime } from "./model-runtime.ts";
import type { DefaultResourceLoader } from "./resource-loader.ts";
import { type SessionEvent, sendPiEvents } from "./session-events.ts";
import { SessionReads } from "./session-reads.ts";

/** What a program binds the extensions of a session to. Read when needed. */
export interface Bound {
  mode: ExtensionMode;
  ui: object | undefined;
  agent: Agent | undefined;
  onError: ((error: ExtensionFailure) => void) | undefined;
  onNotice?(notice: AgentNotice): void;
  shutdown?(): void;
}

interface ExtensionFailure {
  extensionPath: string;
  event: string;
  error: string;
}

interface SessionParts {
  agent: Agent;
  extensions: Extensions;
  lifecycle: Lifecycle<LifecycleEvents>;
  bound: Bound;
  manager: PiSessionManager;
  settingsManager: unknown;
  loader: DefaultResourceLoader;
  runtime: ModelRuntime;
  onDispose(): void;
}

interface Bindings {
  uiContext?: object;
  mode?: ExtensionMode;
  shutdownHandler?(): void;
  onError?(error: ExtensionFailure): void;
}

interface PromptOptions {
  images?: ImageContent[];
  streamingBehavior?: "steer" | "followUp";
  expandPromptTemplates?: boolean;
}

type Listener = (event: SessionEvent) => void;

/** pi's session: an agent at work, with its extensions. */
export class AgentSession extends SessionReads {
  readonly #parts: SessionParts;
  readonly #agent: Agent;
  readonly #listeners = new Set<Listener>();
  #command: AbortController | undefined;
  #disposed: Promise<void> | undefined;
  readonly sessionManager: PiSessionManager;
  readonly settingsManager: unknown;
  readonly resourceLoader: DefaultResourceLoader;
  readonly modelRuntime: ModelRuntime;
  readonly scopedModels: readonly never[] = [];
  readonly agent: ReturnType<typeof agentView>;
  readonly extensionRunner: ReturnType<typeof runnerView>;

  constructor(parts: SessionParts) {
    super(parts.agent);
    this.#parts = parts;
    this.#agent = parts.agent;
    this.sessionManager = parts.manager;
    this.settingsManager = parts.settingsManager;
    this.resourceLoader = parts.loader;
    this.modelRuntime = parts.runtime;
    this.agent = agentView(this, parts.agent);
    this.extensionRunner = runnerView(parts);
    parts.bound.onNotice = ({ level, message }) => {
      if (level !== "info") parts.bound.onError?.({ extensionPath: "", event: "notice", error: message });
    };
    const settled = () =>
      void this.#agent.idle().then(() => this.#send({ type: "agent_settled", aborted: false }));
    sendPiEvents(parts.lifecycle, (event) => this.#send(event), settled);
  }

  /** The function returned ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Gives the extensions a user, and starts them. */
  async bindExtensions({ uiContext, mode, shutdownHandler, onError }: Bindings): Promise<void> {
    const { bound } = this.#parts;
    bound.ui = uiContext;
    bound.mode = mode ?? (uiContext === undefined ? "print" : "rpc");
    bound.onError = onError;
    if (shutdownHandler !== undefined) bound.shutdown = shutdownHandler;
    await this.#agent.start("startup");
  }

  /**
   * Runs a command of an extension, or sends a text. Resolves when the run has ended; a failed request is in the last message.
   * @throws BonsaiError `agent_busy` during a run without `streamingBehavior`, and for a run that failed before its answer
   */
  async prompt(text: string, options: PromptOptions = {}): Promise<void> {
    const { images, streamingBehavior: behavior, expandPromptTemplates: isExpanded = true } = options;
    if (isExpanded && (await this.#parts.extensions.runCommand(text))) return;
    const result = await this.#agent.prompt(text, {
      isExpanded,
      ...(images && { images }),
      ...(behavior && { behavior }),
    });
    if (result.status === "failed" && result.answer === undefined && result.error !== undefined)
      throw result.error;
  }

  async steer(text: string, images?: ImageContent[]): Promise<void> {
    await this.#queue(text, "steer", images);
  }

  async followUp(text: string, images?: ImageContent[]): Promise<void> {
    await this.#queue(text, "followUp", images);
  }

  async sendUserMessage(
    content: string | UserContent[],
    { deliverAs }: { deliverAs?: "steer" | "followUp" } = {},
  ): Promise<void> {
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const images = blocks.filter((block): block is ImageContent => block.type === "image");
    await this.prompt(text, {
      images,
      expandPromptTemplates: false,
      ...(deliverAs && { streamingBehavior: deliverAs }),
    });
  }

  async sendCustomMessage(
    message: Parameters<Agent["sendMessage"]>[0],
    options?: Parameters<Agent["sendMessage"]>[1],
  ): Promise<void> {
    await this.#agent.sendMessage({ ...message, display: message.display ?? true }, options);
  }

  /** A text for a run that is under way; at rest it waits for nothing and begins one. */
  async #queue(text: string, behavior: "steer" | "followUp", images?: ImageContent[]): Promise<void> {
    const run = this.#agent.prompt(text, { behavior, ...(images && { images }) });
    if (!this.isStreaming) await run;
    else run.catch(() => {});
    this.#send(this.#queueEvent());
  }

  #queueEvent(): SessionEvent {
    return {
      type: "queue_update",
      steering: this.getSteeringMessages(),
      followUp: this.getFollowUpMessages(),
    };
  }

  clearQueue(): { steering: string[]; followUp: string[] } {
    const texts = this.#agent.clearQueue();
    const of = (wanted: string) => texts.flatMap(({ behavior, text }) => (behavior === wanted ? [text] : []));
    return { steering: of("steer"), followUp: of("followUp") };
  }

  abort(): Promise<void> {
    return this.#agent.abort();
  }

  waitForIdle(): Promise<void> {
    return this.#agent.idle();
  }

  /** Ends the agent and its extensions. The session file stays. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    this.#listeners.clear();
    // Whoever wants `session_shutdown` sends it by `extensionRunner`, as in pi.
    this.#parts.extensions.unload();
    await this.#agent.close();
    this.#parts.onDispose();
  }

  setModel(model: GivenModel): Promise<void> {
    return this.#agent.setModel(bonsaiModel(model));
  }

  setThinkingLevel(level: string): Promise<void> {
    return this.#agent.setThinking(levelOf(level));
  }

  setSessionName(name: string): void {
    this.#agent.session.append({ type: "session_info", name });
  }

  setActiveToolsByName(names: string[]): void {
    this.#agent.tools.setActive(names);
  }

  get promptTemplates(): object[] {
    return this.resourceLoader.getPrompts().prompts;
  }

  /** @throws BonsaiError `pi_not_compacted` */
  async compact(focus?: string): Promise<object> {
    const outcome = await this.#agent.compact(focus === undefined ? {} : { focus });
    const { compaction } = this.#agent.session.projection();
    if (outcome.status === "compacted" && compaction !== undefined) {
      const { summary, firstKeptEntryId, details } = compaction;
      const { tokensBefore, tokensAfter } = outcome;
      return { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter: tokensAfter, details };
    }
    throw new BonsaiError({
      /** `compact` of a session that an extension created did not compact. The message says why. */
      code: "pi_not_compacted",
      message: outcome.detail,
      hint: "Nothing changed. Try again, or choose another model.",
    });
  }

  abortCompaction(): void {
    this.#agent.cancelCompaction();
  }

  setAutoCompactionEnabled(enabled: boolean): void {
    this.#agent.setCompactionSettings({ ...this.#agent.settings.compaction, enabled });
  }

  async executeBash(
    command: string,
    onChunk: (text: string) => void = () => {},
    { excludeFromContext = false, id }: { excludeFromContext?: boolean; id?: string } = {},
  ): Promise<object> {
    const running = new AbortController();
    this.#command = running;
    const onOutput = (delta: string) => {
      onChunk(delta);
      this.#send({ type: "bash_execution_update", id, delta });
    };
    try {
      return await this.#agent.runUserCommand(command, {
        excludeFromContext,
        signal: running.signal,
        onOutput,
      });
    } finally {
      if (this.#command === running) this.#command = undefined;
    }
  }

  abortBash(): void {
    this.#command?.abort();
  }

  get isBashRunning(): boolean {
    return this.#command !== undefined;
  }

  get hasPendingBashMessages(): boolean {
    return false;
  }

  async navigateTree(
    targetId: string,
    options: {
      summarize?: boolean;
      customInstructions?: string;
      replaceInstructions?: boolean;
      label?: string;
    } = {},
  ): Promise<{ cancelled: boolean }> {
    const { summarize = false, customInstructions, ...more } = options;
    const focus = customInstructions === undefined ? {} : { focus: customInstructions };
    const moved = await this.#agent.navigate(targetId, { summarise: summarize, ...focus, ...more });
    return { ...moved, cancelled: moved.status === "cancelled" };
  }

  hasExtensionHandlers(event: string): boolean {
    return this.extensionRunner.hasHandlers(event);
  }

  async reload(): Promise<void> {
    await this.resourceLoader.reload();
    await this.#parts.extensions.reload();
  }

  #send(event: SessionEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

/** What programs ask of pi's agent behind a session. */
function agentView(session: AgentSession, agent: Agent) {
  return {
    get state() {
      return session.state;
    },
    get signal() {
      return agent.signal;
    },
    sessionId: agent.session.id,
    hasQueuedMessages: () => agent.hasPendingMessages,
    subscribe: (listener: Listener) => session.subscribe(listener),
    prompt: (text: string) => session.prompt(text),
    abort: () => void session.abort(),
    waitForIdle: () => session.waitForIdle(),
    clearAllQueues: () => void session.clearQueue(),
  };
}

/** What programs ask of the extensions of a session. */
function runnerView({ lifecycle, extensions, bound }: SessionParts) {
  return {
    hasHandlers: (event: string) => lifecycle.hasHandlers(event as "agent_end"),
    async emit(event: { type: string }): Promise<undefined> {
      await lifecycle.notify(event.type as "session_shutdown", event as never);
      return undefined;
    },
    hasUI: () => bound.ui !== undefined,
    getExtensionPaths: () => extensions.loaded.map(({ path }) => path),
    getRegisteredCommands: () => [...extensions.commands],
    getCommand: (name: string) => extensions.commands.find((command) => command.name === name),
    getFlags: () => extensions.flags,
    onError(listener: NonNullable<Bound["onError"]>) {
      bound.onError = listener;
      return () => {
        if (bound.onError === listener) bound.onError = undefined;
      };
    },
  };
}
