import type { AssistantMessage, ImageContent } from "@bonsai-agent/messages";
import type { GivenModel } from "../models/model.ts";
import { currentSystemPrompt, initialSystemMessage } from "../models/requests.ts";
import {
  type AgentEvent,
  type AgentMessage,
  type CompletedTurn,
  type LoopConfig,
  type LoopOptions,
  type PiThinkingLevel,
  runAgentLoop,
  runAgentLoopContinue,
  type StreamFn,
  toolDeclaration,
} from "./loop.ts";
import type { AgentContext, AgentTool } from "./tool-calls.ts";

type QueueMode = "all" | "one-at-a-time";

interface InitialState {
  systemPrompt?: string;
  model?: GivenModel;
  thinkingLevel?: PiThinkingLevel;
  tools?: AgentTool[];
  messages?: AgentMessage[];
}

/** pi's options of an agent; those of a loop hold for each of its runs. */
export interface AgentOptions extends Partial<Omit<LoopOptions, "model" | "prepareNextTurn">> {
  initialState?: InitialState;
  /** Default: Bonsai's own. */
  streamFn?: StreamFn;
  steeringMode?: QueueMode;
  followUpMode?: QueueMode;
  prepareNextTurn?(signal?: AbortSignal): ReturnType<NonNullable<LoopConfig["prepareNextTurn"]>>;
  prepareNextTurnWithContext?(
    turn: CompletedTurn,
    signal?: AbortSignal,
  ): ReturnType<NonNullable<LoopConfig["prepareNextTurn"]>>;
}

type Listener = (event: AgentEvent, signal: AbortSignal) => Promise<void> | void;

const noModel = { provider: "unknown", id: "unknown", name: "unknown", api: "unknown", baseUrl: "" };
const rolesOfModels = ["system", "user", "assistant", "toolResult"];

/**
 * pi's agent: a conversation in memory with its tools, its queues and its events. It stores nothing and compacts nothing.
 * The options can be changed between two runs, as in pi.
 */
export class Agent {
  readonly #listeners = new Set<Listener>();
  readonly #steering: MessageQueue;
  readonly #followUps: MessageQueue;
  readonly #options: AgentOptions;
  #run: { ended: Promise<void>; controller: AbortController } | undefined;
  readonly state: AgentState;
  streamFunction: StreamFn | undefined;
  convertToLlm: LoopOptions["convertToLlm"];

  constructor(options: AgentOptions = {}) {
    const { initialState, streamFn, convertToLlm, steeringMode, followUpMode } = options;
    this.#options = { ...options };
    this.#steering = new MessageQueue(steeringMode);
    this.#followUps = new MessageQueue(followUpMode);
    this.state = new AgentState(initialState);
    this.streamFunction = streamFn;
    this.convertToLlm =
      convertToLlm ?? ((messages) => messages.filter(({ role }) => rolesOfModels.includes(role)));
    for (const name of changeable)
      Object.defineProperty(this, name, optionOf(this.#options as Record<string, unknown>, name));
  }

  /** Events of its runs; a run waits for its listeners. The function returned ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get steeringMode(): QueueMode {
    return this.#steering.mode;
  }

  set steeringMode(mode: QueueMode) {
    this.#steering.mode = mode;
  }

  get followUpMode(): QueueMode {
    return this.#followUps.mode;
  }

  set followUpMode(mode: QueueMode) {
    this.#followUps.mode = mode;
  }

  /** For the next request of the run. */
  steer(message: AgentMessage): void {
    this.#steering.messages.push(message);
  }

  /** For the end of the run. */
  followUp(message: AgentMessage): void {
    this.#followUps.messages.push(message);
  }

  clearSteeringQueue(): void {
    this.#steering.messages.length = 0;
  }

  clearFollowUpQueue(): void {
    this.#followUps.messages.length = 0;
  }

  clearAllQueues(): void {
    this.clearSteeringQueue();
    this.clearFollowUpQueue();
  }

  hasQueuedMessages(): boolean {
    return this.peekQueuedMessages().length > 0;
  }

  /** The messages of the next turn. */
  peekQueuedMessages(): AgentMessage[] {
    const steering = this.#steering.next();
    return steering.length > 0 ? steering : this.#followUps.next();
  }

  get signal(): AbortSignal | undefined {
    return this.#run?.controller.signal;
  }

  abort(): void {
    this.#run?.controller.abort();
  }

  /** Resolves when the run and its listeners have ended. */
  waitForIdle(): Promise<void> {
    return this.#run?.ended ?? Promise.resolve();
  }

  /** Drops the conversation and the queues; the system prompt stays. */
  reset(): void {
    this.#checkIdle("resetting");
    const { state } = this;
    const prompt = initialSystemMessage(state.systemPrompt, state.tools.map(toolDeclaration));
    state.messages = prompt === undefined ? [] : [prompt];
    state.errorMessage = undefined;
    this.clearAllQueues();
  }

  async prompt(input: string | AgentMessage | AgentMessage[], images: ImageContent[] = []): Promise<void> {
    if (this.#run !== undefined)
      throw new Error(
        "Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion.",
      );
    const text = () => ({
      role: "user",
      content: [{ type: "text", text: input }, ...images],
      timestamp: Date.now(),
    });
    await this.#start(typeof input === "string" ? [text()] : [input].flat());
  }

  /** Runs on from the last message, or with the queued ones after an answer. */
  async continue(): Promise<void> {
    this.#checkIdle("continuing");
    const last = this.state.messages.findLast(({ role }) => role !== "system");
    if (last === undefined) throw new Error("No messages to continue from");
    if (last.role !== "assistant") return this.#start(undefined);
    const queued = this.#steering.take();
    const prompts = queued.length > 0 ? queued : this.#followUps.take();
    if (prompts.length === 0) throw new Error("Cannot continue from message role: assistant");
    return this.#start(prompts);
  }

  #checkIdle(what: string): void {
    if (this.#run !== undefined)
      throw new Error(`Agent is already processing. Wait for completion before ${what}.`);
  }

  async #start(prompts: AgentMessage[] | undefined): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const controller = new AbortController();
    this.#run = { ended, controller };
    this.state.begin();
    const { messages, tools } = this.state;
    const context: AgentContext = { messages: [...messages], tools: [...tools] };
    const emit = (event: AgentEvent) => this.#emit(event, controller.signal);
    const { streamFunction } = this;
    try {
      const config = this.#config(controller.signal);
      if (prompts === undefined)
        await runAgentLoopContinue(context, config, emit, controller.signal, streamFunction);
      else await runAgentLoop(prompts, context, config, emit, controller.signal, streamFunction);
    } catch (error) {
      await this.#fail(error, emit, controller.signal);
    } finally {
      this.state.end();
      this.#run = undefined;
      resolve();
    }
  }

  #config(signal: AbortSignal): LoopConfig {
    const { initialState: _state, streamFn: _stream, ...options } = this.#options;
    const { prepareNextTurn, prepareNextTurnWithContext } = options;
    const { model, thinkingLevel } = this.state;
    return {
      transport: "auto",
      ...options,
      model,
      reasoning: thinkingLevel === "off" ? undefined : thinkingLevel,
      convertToLlm: this.convertToLlm,
      prepareNextTurn: (turn) =>
        prepareNextTurnWithContext === undefined
          ? prepareNextTurn?.(signal)
          : prepareNextTurnWithContext(turn, signal),
      getSteeringMessages: async () => this.#steering.take(),
      getFollowUpMessages: async () => this.#followUps.take(),
    };
  }

  /** A run that breaks ends with an answer that says why. */
  async #fail(
    error: unknown,
    emit: (event: AgentEvent) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { provider, id, api } = this.state.model as { provider: string; id: string; api?: string };
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const message = {
      role: "assistant",
      content: [{ type: "text", text: "" }],
      ...{ api, provider, model: id },
      usage: { ...none, totalTokens: 0, cost: { ...none, total: 0 } },
      stopReason: signal.aborted ? "aborted" : "error",
      errorMessage: error instanceof Error ? error.message : String(error),
      timestamp: Date.now(),
    };
    const answer = message as unknown as AssistantMessage;
    await emit({ type: "message_start", message });
    await emit({ type: "message_end", message });
    await emit({ type: "turn_end", message: answer, toolResults: [] });
    await emit({ type: "agent_end", messages: [message] });
  }

  async #emit(event: AgentEvent, signal: AbortSignal): Promise<void> {
    this.state.take(event);
    for (const listener of [...this.#listeners]) await listener(event, signal);
  }
}

/** Options that pi has as properties too. */
const changeable = [
  ...["transformContext", "getApiKey", "onPayload", "onResponse", "beforeToolCall", "afterToolCall"],
  ...["finishTurn", "prepareRequest", "prepareNextTurn", "prepareNextTurnWithContext", "sessionId"],
  ...["thinkingBudgets", "transport", "maxRetryDelayMs", "toolExecution"],
];

function optionOf(options: Record<string, unknown>, name: string): PropertyDescriptor {
  const set = (value: unknown) => {
    options[name] = value;
  };
  return { get: () => options[name], set, enumerable: true, configurable: true };
}

/** Owner of the messages that wait for one place of a run. */
class MessageQueue {
  readonly messages: AgentMessage[] = [];
  mode: QueueMode;

  constructor(mode: QueueMode = "one-at-a-time") {
    this.mode = mode;
  }

  next(): AgentMessage[] {
    return this.mode === "all" ? [...this.messages] : this.messages.slice(0, 1);
  }

  take(): AgentMessage[] {
    return this.messages.splice(0, this.next().length);
  }
}

/** What an agent works with. Arrays that are assigned are copied. */
class AgentState {
  model: GivenModel;
  thinkingLevel: PiThinkingLevel;
  isStreaming = false;
  streamingMessage: AgentMessage | undefined;
  pendingToolCalls: ReadonlySet<string> = new Set();
  errorMessage: string | undefined;
  #tools: AgentTool[];
  #messages: AgentMessage[];

  constructor({ systemPrompt, model, thinkingLevel = "off", tools = [], messages = [] }: InitialState = {}) {
    this.model = model ?? (noModel as unknown as GivenModel);
    this.thinkingLevel = thinkingLevel;
    this.#tools = [...tools];
    this.#messages = [...messages];
    const prompt = initialSystemMessage(systemPrompt, tools.map(toolDeclaration));
    if (messages[0]?.role !== "system" && prompt !== undefined) this.#messages.unshift(prompt);
  }

  get systemPrompt(): string {
    return currentSystemPrompt(this.#messages);
  }

  /** Of pi before 0.80: replaces the prompt at the head of the conversation. */
  set systemPrompt(text: string) {
    const rest = this.#messages.filter(({ role }) => role !== "system");
    const prompt = initialSystemMessage(text, this.#tools.map(toolDeclaration));
    this.#messages = [...(prompt === undefined ? [] : [prompt]), ...rest];
  }

  get tools(): AgentTool[] {
    return this.#tools;
  }

  set tools(tools: AgentTool[]) {
    this.#tools = [...tools];
  }

  get messages(): AgentMessage[] {
    return this.#messages;
  }

  set messages(messages: AgentMessage[]) {
    this.#messages = [...messages];
  }

  begin(): void {
    this.isStreaming = true;
    this.errorMessage = undefined;
  }

  end(): void {
    this.isStreaming = false;
    this.streamingMessage = undefined;
    this.pendingToolCalls = new Set();
  }

  take(event: AgentEvent): void {
    switch (event.type) {
      case "message_start":
      case "message_update":
        this.streamingMessage = event.message;
        return;
      case "message_end":
        this.streamingMessage = undefined;
        this.#messages.push(event.message);
        return;
      case "tool_execution_start":
        this.pendingToolCalls = new Set([...this.pendingToolCalls, event.toolCallId]);
        return;
      case "tool_execution_end":
        this.pendingToolCalls = new Set([...this.pendingToolCalls].filter((id) => id !== event.toolCallId));
        return;
      case "turn_end":
        this.errorMessage = event.message.errorMessage || this.errorMessage;
        return;
    }
  }
}
