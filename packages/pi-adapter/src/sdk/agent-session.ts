import type { Agent, LifecycleEvents } from "@bonsai-agent/agent";
import type { ExtensionMode, Extensions } from "@bonsai-agent/extension/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { type ImageContent, type Message, messageText } from "@bonsai-agent/messages";
import { bonsaiModel, type GivenModel, type PiModel, piModel } from "../models/model.ts";
import { levelOf } from "../models/requests.ts";
import { withBlocks } from "../models/transcript.ts";
import type { ModelRuntime } from "./model-runtime.ts";
import { type PiEvent, sendPiEvents } from "./pi-events.ts";
import type { DefaultResourceLoader } from "./resource-loader.ts";
import type { PiSessionManager } from "./session-manager.ts";

/** The program's answers to a session's extensions. Read at each use. */
export interface Binding {
  mode: ExtensionMode;
  ui?: object | undefined;
  onError?: ((error: ExtensionFailure) => void) | undefined;
  shutdown?: (() => void) | undefined;
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
  binding: Binding;
  sessionManager: PiSessionManager;
  settingsManager: unknown;
  resourceLoader: DefaultResourceLoader;
  modelRuntime: ModelRuntime;
  onDispose(): void;
}

interface PromptOptions {
  images?: ImageContent[];
  streamingBehavior?: "steer" | "followUp";
  expandPromptTemplates?: boolean;
}

type Listener = (event: PiEvent) => void;

/** pi's session: an agent with its extensions. */
export class AgentSession {
  readonly #parts: SessionParts;
  readonly #agent: Agent;
  readonly #listeners = new Set<Listener>();
  #disposed: Promise<void> | undefined;
  readonly sessionManager: PiSessionManager;
  readonly settingsManager: unknown;
  readonly resourceLoader: DefaultResourceLoader;
  readonly modelRuntime: ModelRuntime;
  readonly agent: ReturnType<typeof agentView>;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#agent = parts.agent;
    this.sessionManager = parts.sessionManager;
    this.settingsManager = parts.settingsManager;
    this.resourceLoader = parts.resourceLoader;
    this.modelRuntime = parts.modelRuntime;
    this.agent = agentView(this, parts.agent);
    const onSettled = () =>
      void this.#agent.idle().then(() => this.#send({ type: "agent_settled", aborted: false }));
    sendPiEvents(parts.lifecycle, (event) => this.#send(event), onSettled);
  }

  /** Call the returned function to unsubscribe. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects the extensions with a program and starts them. */
  async bindExtensions(given: {
    uiContext?: object;
    mode?: ExtensionMode;
    shutdownHandler?(): void;
    onError?(error: ExtensionFailure): void;
  }): Promise<void> {
    const { uiContext: ui, mode = ui === undefined ? "print" : "rpc", onError, shutdownHandler } = given;
    Object.assign(this.#parts.binding, { ui, mode, onError, shutdown: shutdownHandler });
    await this.#agent.start("startup");
  }

  /**
   * Runs a command of an extension, or sends a text. Resolves at the end of the run; a failed request is in the last message.
   * @throws BonsaiError `agent_busy` during a run without `streamingBehavior`, and the error of a run without an answer
   */
  async prompt(text: string, options: PromptOptions = {}): Promise<void> {
    const { images, streamingBehavior: behavior, expandPromptTemplates: isExpanded = true } = options;
    if (isExpanded && (await this.#parts.extensions.runCommand(text))) return;
    const given = { isExpanded, ...(images && { images }), ...(behavior && { behavior }) };
    const { status, answer, error } = await this.#agent.prompt(text, given);
    if (status === "failed" && answer === undefined && error !== undefined) throw error;
  }

  steer(text: string, images?: ImageContent[]): Promise<void> {
    return this.#queue(text, { streamingBehavior: "steer", ...(images && { images }) });
  }

  followUp(text: string, images?: ImageContent[]): Promise<void> {
    return this.#queue(text, { streamingBehavior: "followUp", ...(images && { images }) });
  }

  /** During a run, the text waits for it. Otherwise it starts a run. */
  async #queue(text: string, options: PromptOptions): Promise<void> {
    const run = this.prompt(text, options);
    if (this.isStreaming) run.catch(() => {});
    else await run;
  }

  abort(): Promise<void> {
    return this.#agent.abort();
  }

  waitForIdle(): Promise<void> {
    return this.#agent.idle();
  }

  /** Ends the agent and its extensions. The session file stays. The caller sends `session_shutdown`, as in pi. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    this.#listeners.clear();
    this.#parts.extensions.unload();
    await this.#agent.close();
    this.#parts.onDispose();
  }

  get model(): PiModel {
    return piModel(this.#agent.model);
  }

  setModel(model: GivenModel): Promise<void> {
    return this.#agent.setModel(bonsaiModel(model));
  }

  get thinkingLevel(): string {
    return this.#agent.state.thinking;
  }

  setThinkingLevel(level: string): Promise<void> {
    return this.#agent.setThinking(levelOf(level));
  }

  get messages(): Message[] {
    return this.#agent.session.projection().items.map(({ message }) => withBlocks(message));
  }

  getLastAssistantText(): string | undefined {
    const answer = this.messages.findLast(({ role }) => role === "assistant");
    return answer && messageText(answer);
  }

  get systemPrompt(): string {
    return this.#agent.systemPrompt;
  }

  get isStreaming(): boolean {
    return this.#agent.isBusy;
  }

  get isIdle(): boolean {
    return !this.#agent.isBusy;
  }

  get sessionFile(): string | undefined {
    return this.#agent.session.file;
  }

  get sessionId(): string {
    return this.#agent.session.id;
  }

  getActiveToolNames(): string[] {
    return [...this.#agent.tools.active];
  }

  setActiveToolsByName(names: string[]): void {
    this.#agent.tools.setActive(names);
  }

  getAllTools(): { name: string; description: string; parameters: object }[] {
    return this.#agent.tools.allTools().map(({ declaration }) => ({ ...declaration }));
  }

  get state() {
    const { messages, model, thinkingLevel, systemPrompt, isStreaming } = this;
    const last = messages.at(-1);
    const errorMessage = last?.role === "assistant" ? last.errorMessage : undefined;
    const tools = this.getAllTools().filter(({ name }) => this.#agent.tools.isActive(name));
    return { messages, model, thinkingLevel, systemPrompt, isStreaming, errorMessage, tools };
  }

  /** pi's runner of a session's extensions. */
  get extensionRunner() {
    const { lifecycle, extensions } = this.#parts;
    return {
      hasHandlers: (event: string) => lifecycle.hasHandlers(event as "agent_end"),
      async emit(event: { type: string }): Promise<void> {
        await lifecycle.notify(event.type as "session_shutdown", event as never);
      },
      getExtensionPaths: () => extensions.loaded.map(({ path }) => path),
    };
  }

  #send(event: PiEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

/** pi's agent of a session. */
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
  };
}
