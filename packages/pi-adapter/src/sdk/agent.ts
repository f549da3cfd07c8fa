import {
  agentSettings,
  Agent as BonsaiAgent,
  type LifecycleEvents,
  lifecycleEventRules,
  type PromptOptions,
  type RunResult,
  type Tool,
  type ToolResult,
} from "@bonsai-agent/agent";
import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import { streamProvider } from "@bonsai-agent/extension/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import {
  type AssistantMessage,
  contentText,
  emptyUsage,
  type ImageContent,
  type Message,
  type ToolCall,
} from "@bonsai-agent/messages";
import { ModelClient } from "@bonsai-agent/models";
import { createSession } from "@bonsai-agent/session";
import { bonsaiModel, type GivenModel } from "../models/model.ts";
import { levelOf, stream } from "../models/requests.ts";
import { fromPiEvents, type PiEventSource } from "../models/streams.ts";
import { piRequest, withBlocks } from "../models/transcript.ts";
import { overlay } from "../pi-extension.ts";
import { type PiEvent, sendPiEvents } from "./pi-events.ts";

interface AgentTool
  extends Pick<Tool, "name" | "label" | "description" | "parameters" | "executionMode" | "prepareArguments"> {
  execute(
    toolCallId: string,
    params: unknown,
    signal: AbortSignal,
    onUpdate: (partial: ToolResult) => void,
  ): Promise<ToolResult>;
}

interface AgentState {
  systemPrompt: string;
  model: GivenModel;
  thinkingLevel: string;
  tools: AgentTool[];
  messages: Message[];
  isStreaming: boolean;
  errorMessage: string | undefined;
}

type StreamFn = (model: GivenModel, context: object, options: object) => PiEventSource;

interface CallContext {
  assistantMessage: AssistantMessage | undefined;
  toolCall: ToolCall;
  args: unknown;
  context: { messages: Message[]; tools: AgentTool[] };
}

/** pi's options, as far as Bonsai's own agent has a place for them. */
interface AgentOptions {
  initialState?: Partial<AgentState>;
  /** Default: Bonsai's own models. */
  streamFn?: StreamFn;
  streamFunction?: StreamFn;
  convertToLlm?(messages: Message[]): Message[] | Promise<Message[]>;
  transformContext?(messages: Message[], signal?: AbortSignal): Promise<Message[]>;
  getApiKey?(provider: string): Promise<string | undefined> | string | undefined;
  beforeToolCall?(
    call: CallContext,
    signal?: AbortSignal,
  ): Promise<{ block?: boolean; reason?: string } | undefined>;
  afterToolCall?(
    call: CallContext & { result: ToolResult; isError: boolean },
    signal?: AbortSignal,
  ): Promise<Partial<ToolResult> | undefined>;
  toolExecution?: "sequential" | "parallel";
  sessionId?: string;
}

type Listener = (event: PiEvent, signal: AbortSignal | undefined) => Promise<void> | void;
type Behavior = "steer" | "followUp";

const noModel: GivenModel = { provider: "unknown", id: "unknown" };

/**
 * pi's agent: a conversation in memory with its tools. Each run is a run of Bonsai's agent, without compaction. The state can
 * be changed between two runs.
 */
export class Agent {
  readonly #options: AgentOptions;
  readonly #listeners = new Set<Listener>();
  /** Messages for the next run. */
  #waiting: { message: Message; behavior: Behavior }[] = [];
  #run: { agent: BonsaiAgent; ended: Promise<unknown> } | undefined;
  readonly state: AgentState;
  streamFunction: StreamFn;

  constructor(options: AgentOptions = {}) {
    const { initialState, streamFn, streamFunction } = options;
    this.#options = options;
    this.streamFunction = streamFunction ?? streamFn ?? (stream as StreamFn);
    const { tools = [], messages = [], ...given } = initialState ?? {};
    const fixed = { isStreaming: false, errorMessage: undefined, tools: [...tools], messages: [...messages] };
    this.state = { systemPrompt: "", model: noModel, thinkingLevel: "off", ...given, ...fixed };
  }

  /** Runs wait for their listeners. Call the returned function to unsubscribe. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves at the end of the run. A failed request is an answer with `stopReason` "error". */
  async prompt(input: string | Message | Message[], images: ImageContent[] = []): Promise<void> {
    if (this.#run !== undefined)
      throw new Error("Agent is already processing a prompt. Use steer() or followUp() to queue messages.");
    const given = typeof input === "string" ? [userMessage(input, images)] : [input].flat();
    const last = given.pop();
    if (last === undefined) return;
    this.state.messages.push(...given);
    const agent = this.#open();
    const ended = agent.prompt(...promptOf(last));
    this.#run = { agent, ended };
    for (const { message, behavior } of this.#waiting.splice(0)) this.#deliver(message, behavior);
    Object.assign(this.state, { isStreaming: true, errorMessage: undefined });
    try {
      this.#finish(await ended);
    } finally {
      this.#run = undefined;
      this.state.isStreaming = false;
      await agent.close();
    }
  }

  /** For the next request of the run. */
  steer(message: Message): void {
    this.#deliver(message, "steer");
  }

  /** For the end of the run. */
  followUp(message: Message): void {
    this.#deliver(message, "followUp");
  }

  hasQueuedMessages(): boolean {
    return this.#waiting.length > 0 || this.#run?.agent.hasPendingMessages === true;
  }

  get signal(): AbortSignal | undefined {
    return this.#run?.agent.signal;
  }

  abort(): void {
    void this.#run?.agent.abort();
  }

  async waitForIdle(): Promise<void> {
    await this.#run?.ended;
  }

  /** Drops the conversation and the waiting messages. */
  reset(): void {
    Object.assign(this.state, { messages: [], errorMessage: undefined });
    this.#waiting = [];
  }

  #deliver(message: Message, behavior: Behavior): void {
    if (this.#run === undefined) this.#waiting.push({ message, behavior });
    else {
      const [text, images] = promptOf(message);
      void this.#run.agent.prompt(text, { ...images, behavior });
    }
  }

  /** An agent for one run. */
  #open(): BonsaiAgent {
    const { systemPrompt, model: given, thinkingLevel, tools, messages } = this.state;
    const session = createSession({ cwd: process.cwd() });
    for (const message of messages) session.append({ type: "message", message: message as AssistantMessage });
    const models = new ModelClient({ retry: { maxRetries: 0 } });
    const model = { ...bonsaiModel(given), api: "extension" as const };
    models.serve(
      model.provider,
      streamProvider((request) => fromPiEvents(this.#ask(request))),
    );
    const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules, onNotice: () => {} });
    this.#connect(lifecycle);
    return new BonsaiAgent({
      ...{ session, models, model, lifecycle, systemPrompt, isSubAgent: true },
      settings: {
        ...agentSettings({ compaction: { enabled: false }, limits: { runRequests: 0 } }),
        thinking: levelOf(thinkingLevel),
      },
      tools: tools.map((tool) => {
        const { toolExecution: executionMode = tool.executionMode } = this.#options;
        const execute: Tool["execute"] = ({ toolCallId, input, signal, onUpdate }) =>
          tool.execute(toolCallId, input, signal, onUpdate);
        return overlay(tool, { execute, ...(executionMode && { executionMode }) });
      }),
    });
  }

  async #ask({ messages: sent, systemPrompt, tools, signal, thinking = "off" }: ProviderStreamRequest) {
    const { transformContext, convertToLlm, getApiKey, sessionId } = this.#options;
    const { model } = this.state;
    const given = sent.map(withBlocks);
    const changed = (await transformContext?.(given, signal)) ?? given;
    const messages = (await convertToLlm?.(changed)) ?? changed;
    return this.streamFunction(model, piRequest({ systemPrompt, tools, messages }), {
      ...{ apiKey: await getApiKey?.(model.provider), signal, sessionId },
      ...(thinking === "off" ? {} : { reasoning: thinking }),
    });
  }

  #connect(lifecycle: Lifecycle<LifecycleEvents>): void {
    const { beforeToolCall, afterToolCall } = this.#options;
    sendPiEvents(lifecycle, async (event) => {
      if (event.type === "message_end") this.state.messages.push(event.message as Message);
      for (const listener of [...this.#listeners]) await listener(event, this.signal);
    });
    lifecycle.on("tool_call", async (event) => {
      const decision = await beforeToolCall?.(this.#callOf(event), this.signal);
      if (decision?.block !== true) return undefined;
      return { block: true, reason: decision.reason ?? "Tool execution was blocked" };
    });
    lifecycle.on("tool_result", async ({ content, details, isError, ...call }) =>
      afterToolCall?.(
        { ...this.#callOf(call), result: { content: [...content], details }, isError },
        this.signal,
      ),
    );
  }

  #callOf({
    toolCallId: id,
    toolName: name,
    input,
  }: {
    toolCallId: string;
    toolName: string;
    input: unknown;
  }): CallContext {
    const { messages, tools } = this.state;
    const assistantMessage = messages.findLast((message) => message.role === "assistant");
    const toolCall: ToolCall = { type: "toolCall", id, name, arguments: input as ToolCall["arguments"] };
    return { assistantMessage, toolCall, args: input, context: { messages, tools } };
  }

  /** A run that failed before an answer gets one with the reason. */
  #finish({ status, answer, error }: RunResult): void {
    const { state } = this;
    const { provider, id: model } = state.model;
    const errorMessage = answer?.errorMessage ?? error?.message;
    state.errorMessage = errorMessage;
    if (status !== "failed" || answer !== undefined) return;
    state.messages.push({
      ...{ role: "assistant", content: [{ type: "text", text: "" }], api: "extension", provider, model },
      ...{ usage: emptyUsage(), stopReason: "error", errorMessage, timestamp: Date.now() },
    } as AssistantMessage);
  }
}

function userMessage(text: string, images: ImageContent[]): Message {
  return { role: "user", content: [{ type: "text", text }, ...images], timestamp: Date.now() };
}

function promptOf(message: Message): [text: string, options: PromptOptions] {
  const { content } = message as { content: string | ({ type: string } | ImageContent)[] };
  const blocks = typeof content === "string" ? [] : content;
  const images = blocks.filter((block): block is ImageContent => block.type === "image");
  return [contentText(content as never), { isExpanded: true, ...(images.length > 0 && { images }) }];
}
