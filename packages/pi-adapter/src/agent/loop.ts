import type { AssistantMessage, ToolCall } from "@bonsai-agent/messages";
import type { ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";
import type { GivenModel } from "../models/model.ts";
import { currentTools, stream, type TranscriptMessage } from "../models/requests.ts";
import { EventStream, type PiStreamEvent } from "../models/streams.ts";
import {
  type AgentContext,
  type MessageEvent,
  runToolCalls,
  type ToolEvent,
  type ToolHooks,
  type ToolResult,
} from "./tool-calls.ts";

/** A message of a model, a system message, or one of the application's own. */
export type AgentMessage = TranscriptMessage;

/** A completed answer with the results of its calls. */
export interface CompletedTurn {
  message: AssistantMessage;
  toolResults: ToolResult[];
  context: AgentContext;
  newMessages: AgentMessage[];
}

/** Replaces parts of the following requests. */
interface TurnUpdate {
  context?: AgentContext;
  messages?: AgentMessage[];
  model?: GivenModel;
  thinkingLevel?: PiThinkingLevel;
}

export type PiThinkingLevel = ThinkingLevel | "max";

export type AgentEvent =
  | { type: "agent_start" | "turn_start" }
  | { type: "agent_end"; messages: AgentMessage[] }
  | { type: "turn_end"; message: AssistantMessage; toolResults: ToolResult[] }
  | MessageEvent
  | { type: "message_update"; message: AgentMessage; assistantMessageEvent: PiStreamEvent }
  | ToolEvent;

export type Emit = (event: AgentEvent) => Promise<void> | void;

interface AnswerStream extends AsyncIterable<PiStreamEvent> {
  result(): Promise<AssistantMessage>;
}

/** Asks the model. A failed request is an answer with `stopReason` "error". */
export type StreamFn = (
  model: GivenModel,
  context: { messages: AgentMessage[] },
  options: Record<string, unknown>,
) => AnswerStream | Promise<AnswerStream>;

/** pi's options of a loop; others go to the stream function as they are. */
export interface LoopConfig extends LoopOptions {
  [option: string]: unknown;
}

export interface LoopOptions extends ToolHooks {
  model: GivenModel;
  reasoning?: PiThinkingLevel | undefined;
  apiKey?: string;
  convertToLlm(messages: AgentMessage[]): AgentMessage[] | Promise<AgentMessage[]>;
  transformContext?(messages: AgentMessage[], signal?: AbortSignal): Promise<AgentMessage[]>;
  getApiKey?(provider: string): Promise<string | undefined> | string | undefined;
  /** Runs after a turn, before `turn_end`. */
  finishTurn?(
    turn: CompletedTurn,
    signal?: AbortSignal,
  ): Promise<{ action: "continue" | "end" } | undefined> | { action: "continue" | "end" } | undefined;
  prepareRequest?(
    request: { context: AgentContext; model: GivenModel; thinkingLevel: PiThinkingLevel },
    signal?: AbortSignal,
  ): Promise<TurnUpdate | undefined> | TurnUpdate | undefined;
  /** Runs between two turns. */
  prepareNextTurn?(turn: CompletedTurn): Promise<TurnUpdate | undefined> | TurnUpdate | undefined;
  getSteeringMessages?(): Promise<AgentMessage[]>;
  getFollowUpMessages?(): Promise<AgentMessage[]>;
}

/** pi's `agentLoop`: the events of a run as a stream. */
export function agentLoop(
  prompts: AgentMessage[],
  context: AgentContext,
  config: LoopConfig,
  signal?: AbortSignal,
  streamFn?: StreamFn,
): EventStream<AgentEvent, AgentMessage[]> {
  return eventsOf((emit) => runAgentLoop(prompts, context, config, emit, signal, streamFn));
}

/** pi's `agentLoopContinue`. The last message must be one that a model can answer. */
export function agentLoopContinue(
  context: AgentContext,
  config: LoopConfig,
  signal?: AbortSignal,
  streamFn?: StreamFn,
): EventStream<AgentEvent, AgentMessage[]> {
  checkCanContinue(context);
  return eventsOf((emit) => runAgentLoopContinue(context, config, emit, signal, streamFn));
}

function eventsOf(run: (emit: Emit) => Promise<AgentMessage[]>): EventStream<AgentEvent, AgentMessage[]> {
  const events = new EventStream<AgentEvent, AgentMessage[]>(
    ({ type }) => type === "agent_end",
    (event) => (event.type === "agent_end" ? event.messages : []),
  );
  run((event) => events.push(event)).then(
    (messages) => events.end(messages),
    () => events.end(),
  );
  return events;
}

/** Sends prompts and runs until the model has no more calls. Returns the new messages. */
export function runAgentLoop(
  prompts: AgentMessage[],
  context: AgentContext,
  config: LoopConfig,
  emit: Emit,
  signal?: AbortSignal,
  streamFn?: StreamFn,
): Promise<AgentMessage[]> {
  return new AgentLoop({ context, config, emit, signal, streamFn }).run(prompts);
}

/** Runs on from the messages of the context. */
export async function runAgentLoopContinue(
  context: AgentContext,
  config: LoopConfig,
  emit: Emit,
  signal?: AbortSignal,
  streamFn?: StreamFn,
): Promise<AgentMessage[]> {
  checkCanContinue(context);
  return new AgentLoop({ context, config, emit, signal, streamFn }).run([]);
}

function checkCanContinue({ messages }: AgentContext): void {
  if (messages.length === 0) throw new Error("Cannot continue: no messages in context");
  if (messages.at(-1)!.role === "assistant") throw new Error("Cannot continue from message role: assistant");
}

interface LoopParts {
  context: AgentContext;
  config: LoopConfig;
  emit: Emit;
  signal: AbortSignal | undefined;
  streamFn: StreamFn | undefined;
}

/** Owner of one run: its context, its options, and its new messages. */
class AgentLoop {
  readonly #emit: Emit;
  readonly #signal: AbortSignal | undefined;
  readonly #stream: StreamFn;
  readonly #new: AgentMessage[] = [];
  #context: AgentContext;
  #config: LoopConfig;

  constructor({ context, config, emit, signal, streamFn }: LoopParts) {
    this.#emit = emit;
    this.#signal = signal;
    this.#stream = streamFn ?? (stream as unknown as StreamFn);
    this.#context = { ...context, messages: [...context.messages] };
    this.#config = config;
  }

  async run(prompts: AgentMessage[]): Promise<AgentMessage[]> {
    await this.#emit({ type: "agent_start" });
    await this.#emit({ type: "turn_start" });
    if (prompts.length > 0) await this.#add(prompts);
    let waiting = (await this.#config.getSteeringMessages?.()) ?? [];
    for (let turn: TurnEnd | undefined; ; ) {
      turn = await this.#turn(waiting, turn);
      if (turn.isLast) break;
      waiting = (await this.#config.getSteeringMessages?.()) ?? [];
      if (turn.hasCalls || waiting.length > 0) continue;
      waiting = (await this.#config.getFollowUpMessages?.()) ?? [];
      if (waiting.length === 0 && !turn.mustContinue) break;
    }
    await this.#emit({ type: "agent_end", messages: this.#new });
    return this.#new;
  }

  /** One request with what follows from its answer. */
  async #turn(waiting: AgentMessage[], before: TurnEnd | undefined): Promise<TurnEnd> {
    let messages = waiting;
    if (before !== undefined) {
      const update = await this.#config.prepareNextTurn?.(before.turn);
      this.#apply(update);
      if (messages.length === 0) messages = (await this.#config.getSteeringMessages?.()) ?? [];
      messages = [...(update?.messages ?? []), ...messages];
      await this.#emit({ type: "turn_start" });
    }
    await this.#add(messages);
    const { model, reasoning = "off" } = this.#config;
    const request = { context: this.#context, model, thinkingLevel: reasoning };
    this.#apply(await this.#config.prepareRequest?.(request, this.#signal));
    const message = await this.#ask();
    const isFailed = message.stopReason === "error" || message.stopReason === "aborted";
    const { results, shouldStop } = isFailed ? { results: [], shouldStop: true } : await this.#call(message);
    const turn = { message, toolResults: results, context: this.#context, newMessages: this.#new };
    const decision = await this.#config.finishTurn?.(turn, this.#signal);
    await this.#emit({ type: "turn_end", message, toolResults: results });
    return {
      turn,
      isLast: isFailed || decision?.action === "end",
      hasCalls: results.length > 0 && !shouldStop,
      mustContinue: decision?.action === "continue",
    };
  }

  #apply({ context, model, thinkingLevel }: TurnUpdate = {}): void {
    if (context !== undefined) this.#context = context;
    const reasoning = thinkingLevel === "off" ? undefined : thinkingLevel;
    this.#config = {
      ...this.#config,
      ...(model && { model }),
      ...(thinkingLevel === undefined ? {} : { reasoning }),
    };
  }

  /** Adds messages, after a system message with the tools that changed. */
  async #add(messages: AgentMessage[]): Promise<void> {
    for (const message of withToolChanges(this.#context, messages)) {
      await this.#emit({ type: "message_start", message });
      await this.#emit({ type: "message_end", message });
      this.#keep(message);
    }
  }

  #keep(message: AgentMessage): void {
    this.#context.messages.push(message);
    this.#new.push(message);
  }

  async #ask(): Promise<AssistantMessage> {
    const { transformContext, convertToLlm, getApiKey, model } = this.#config;
    const { messages: all } = this.#context;
    const messages = (await transformContext?.(all, this.#signal)) ?? all;
    const context = { messages: await convertToLlm(messages) };
    const apiKey = (await getApiKey?.(model.provider)) ?? this.#config.apiKey;
    const options = { ...this.#config, apiKey, signal: this.#signal };
    const answer = await this.#stream(model, context, options);
    let isStarted = false;
    for await (const event of answer) {
      if (event.type === "done" || event.type === "error") break;
      const message = { ...event.partial } as unknown as AgentMessage;
      if (event.type === "start") await this.#emit({ type: "message_start", message });
      else await this.#emit({ type: "message_update", message, assistantMessageEvent: event });
      isStarted = true;
    }
    const message = await answer.result();
    const kept = message as unknown as AgentMessage;
    if (!isStarted) await this.#emit({ type: "message_start", message: { ...kept } });
    await this.#emit({ type: "message_end", message: kept });
    this.#keep(kept);
    return message;
  }

  async #call(message: AssistantMessage): Promise<{ results: ToolResult[]; shouldStop: boolean }> {
    const calls = message.content.filter((block): block is ToolCall => block.type === "toolCall");
    if (calls.length === 0) return { results: [], shouldStop: true };
    const parts = { context: this.#context, hooks: this.#config, emit: this.#emit, signal: this.#signal };
    const called = await runToolCalls(message, calls, parts);
    for (const result of called.results) this.#keep(result as unknown as AgentMessage);
    return called;
  }
}

interface TurnEnd {
  turn: CompletedTurn;
  isLast: boolean;
  hasCalls: boolean;
  /** `finishTurn` wants another request. */
  mustContinue: boolean;
}

/** The messages, with the difference between the tools that the transcript declares and the tools that can run. */
function withToolChanges(context: AgentContext, messages: AgentMessage[]): AgentMessage[] {
  const declared = currentTools([...context.messages, ...messages]);
  const tools = (context.tools ?? []).map(toolDeclaration);
  const isIn = (list: readonly ToolDeclaration[], { name, description }: ToolDeclaration) =>
    list.some((other) => other.name === name && other.description === description);
  const toolsAdded = tools.filter((tool) => !isIn(declared, tool));
  const toolsRemoved = declared.filter((tool) => !isIn(tools, tool)).map(({ name }) => ({ name }));
  if (toolsAdded.length === 0 && toolsRemoved.length === 0) return messages;
  const change = { role: "system", content: "", timestamp: Date.now(), toolsAdded, toolsRemoved };
  const at = messages.findIndex(({ role }) => role !== "system");
  const index = at === -1 ? messages.length : at;
  return [...messages.slice(0, index), change, ...messages.slice(index)];
}

export function toolDeclaration({ name, description, parameters }: ToolDeclaration): ToolDeclaration {
  return { name, description, parameters };
}
