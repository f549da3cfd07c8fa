import type {
  AssistantContent,
  AssistantMessage,
  Message,
  StopReason,
  ToolCall,
} from "@bonsai-agent/messages";
import type {
  AnswerBuilder,
  ModelRequest,
  ProviderApi,
  ProviderCall,
  StreamEvent,
  ThinkingLevel,
  ToolDeclaration,
} from "@bonsai-agent/models";
import type { LoginCredentials, ProviderLogin } from "@bonsai-agent/models/login";

/** A model of a provider that an extension adds. */
export interface ProviderModelOptions {
  id: string;
  name?: string | undefined;
  reasoning?: boolean | undefined;
  /** Default text. */
  input?: readonly ("text" | "image")[] | undefined;
  /** US dollars per million tokens. */
  cost?:
    | { input: number; output: number; cacheRead?: number | undefined; cacheWrite?: number | undefined }
    | undefined;
  /** Tokens. */
  contextWindow?: number | undefined;
  /** Tokens of the longest answer. */
  maxTokens?: number | undefined;
  /** Default: the provider's. */
  api?: ProviderApi | string | undefined;
  baseUrl?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** The model that a provider of one's own is asked for. */
export interface AskedModel {
  provider: string;
  id: string;
  /** As its answers say it, in messages. */
  api: string;
  /** True when it can think. */
  reasoning: boolean;
  input: readonly ("text" | "image")[];
  /** Empty where none was given. */
  baseUrl: string;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** What a provider of one's own is asked. */
export interface ProviderStreamRequest {
  model: AskedModel;
  /** What for: a turn of the conversation, a summary, a title, or what an extension asks by itself. */
  purpose: ModelRequest["purpose"];
  systemPrompt: string;
  messages: readonly Message[];
  tools: readonly ToolDeclaration[];
  /** Tokens. */
  maxOutputTokens?: number;
  /** How much the model may think before it answers. */
  thinking?: ThinkingLevel;
  /** The provider's key, where there is one. */
  apiKey?: string;
  /** The same for all requests of one session. */
  cacheKey?: string;
  /** Aborted when nobody waits for the answer any longer. */
  signal: AbortSignal;
}

/**
 * The answer as it comes in. What its methods return is to be yielded. A stream that has called `stop` ends without
 * `done`: the answer is what stands here.
 */
export interface ProviderAnswer {
  /** The answer so far; it grows in place. */
  readonly message: AssistantMessage;
  /** Adds to the text at the end, or begins one. */
  text(delta: string): StreamEvent;
  /** Adds to the thinking at the end, or begins one; signatures are set on the block in `message.content`. */
  thinking(delta: string): StreamEvent;
  /** Adds a block that is complete, or whose parts come later. @returns its index in `message.content` */
  add(block: AssistantContent): number;
  /** Begins a call whose arguments stream in; a call without an id gets one. @returns its index in `message.content` */
  beginCall(call: Pick<ToolCall, "id" | "name"> & Partial<ToolCall>): number;
  /** Adds a part of a call's arguments, as JSON text. */
  callArguments(index: number, delta: string): StreamEvent;
  /** Ends a call; what is no JSON object is told to the model as its mistake. */
  endCall(index: number): StreamEvent;
  /** Counts of tokens; the cost is reckoned by the model's prices. */
  setUsage(counts: Parameters<AnswerBuilder["setUsage"]>[0]): void;
  /** Why the answer ended, and in the server's own words. */
  stop(reason: StopReason, rawReason?: string): void;
}

/** A login of a provider, in pi's shape. `oauthLogin` and `keyLogin` of `@bonsai-agent/extension/login` make most of them. */
export interface ProviderLoginOptions extends ProviderLogin {
  /**
   * Changes the provider's models for whoever is logged in, their `baseUrl` for one. Called with those that were registered, when
   * a login is there, and after each login and refresh of this process.
   */
  modifyModels?(
    models: (ProviderModelOptions & { provider: string })[],
    credentials: LoginCredentials,
  ): readonly ProviderModelOptions[];
}

export interface ProviderOptions {
  name?: string | undefined;
  /** Needed where models are given, unless `stream` is. */
  baseUrl?: string | undefined;
  /** The key itself, or `$NAME` of a variable of the environment. */
  apiKey?: string | undefined;
  /**
   * `anthropic-messages`, `openai-responses` or `openai-chat` (also as `openai-completions`). Default: what the provider
   * has, and `openai-chat` for a new one; of no account beside `stream`.
   */
  api?: ProviderApi | string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** True: the key is sent as `Authorization: Bearer` too, beside where the protocol has it. Default false. */
  authHeader?: boolean | undefined;
  /** How users log in, with `/login NAME`: what it gives stands in for a key. */
  oauth?: ProviderLoginOptions | undefined;
  /** Takes the place of the provider's known models; without it, those stay. */
  models?: readonly ProviderModelOptions[] | undefined;
  /**
   * What requests lack besides a key, in one sentence with the remedy, as it is now: "Set AWS_REGION." Then none is made,
   * and the models are not offered.
   */
  missing?: string | undefined;
  /**
   * Makes the client that requests of `openai-responses` and `openai-chat` go out by, for each request: one of the `openai`
   * SDK, with these settings, and with the address and the credentials that it knows.
   */
  client?: ProviderCall["connect"];
  /**
   * Answers requests in the place of a protocol: events of the stream, whose `done` or `error` has the whole answer, or
   * that alone; or what the methods of `answer` return, which checks and counts as the built-in protocols do. A throw is a
   * failed request; a ProviderError says best what kind of one, and what looks like a provider's error is read like one.
   * Nothing for five minutes is taken for the end of the connection. What it is given is frozen.
   */
  stream?(
    request: ProviderStreamRequest,
    answer: ProviderAnswer,
  ): AsyncIterable<StreamEvent> | Promise<AssistantMessage>;
}
