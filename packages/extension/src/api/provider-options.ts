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

/** A model of an extension's provider. */
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
  /** Maximum tokens of an answer. */
  maxTokens?: number | undefined;
  /** Default: the provider's. */
  api?: ProviderApi | string | undefined;
  baseUrl?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** The model of a request to an extension's provider. */
export interface AskedModel {
  provider: string;
  id: string;
  /** The `api` of its answers. */
  api: string;
  /** True if it can think. */
  reasoning: boolean;
  input: readonly ("text" | "image")[];
  /** Empty by default. */
  baseUrl: string;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** A request to an extension's provider. */
export interface ProviderStreamRequest {
  model: AskedModel;
  /** The purpose: a turn, a summary, a title, or an extension's own request. */
  purpose: ModelRequest["purpose"];
  systemPrompt: string;
  messages: readonly Message[];
  tools: readonly ToolDeclaration[];
  /** Tokens. */
  maxOutputTokens?: number;
  thinking?: ThinkingLevel;
  /** The provider's key, if it has one. */
  apiKey?: string;
  /** The same for all requests of one session. */
  cacheKey?: string;
  /** Aborts when the answer is no longer needed. */
  signal: AbortSignal;
}

/** Builds the answer. Yield the events that its methods return. After `stop`, a stream ends without `done`. */
export interface ProviderAnswer {
  /** The answer so far; it changes in place. */
  readonly message: AssistantMessage;
  /** Adds to the last text block, or starts one. */
  text(delta: string): StreamEvent;
  /** Adds to the last thinking block, or starts one. Set signatures on the block in `message.content`. */
  thinking(delta: string): StreamEvent;
  /** Adds a block. @returns its index in `message.content` */
  add(block: AssistantContent): number;
  /** Starts a call with streamed arguments; a missing id is added. @returns its index in `message.content` */
  beginCall(call: Pick<ToolCall, "id" | "name"> & Partial<ToolCall>): number;
  /** Adds JSON text to a call's arguments. */
  callArguments(index: number, delta: string): StreamEvent;
  /** Ends a call. The model is told about arguments that are no JSON object. */
  endCall(index: number): StreamEvent;
  /** Sets the token counts; the model's prices give the cost. */
  setUsage(counts: Parameters<AnswerBuilder["setUsage"]>[0]): void;
  /** Sets the stop reason, and the server's own one. */
  stop(reason: StopReason, rawReason?: string): void;
}

/**
 * A login of a provider, in pi's shape. `oauthLogin` and `keyLogin` of `@bonsai-agent/extension/login` make the usual
 * ones.
 */
export interface ProviderLoginOptions extends ProviderLogin {
  /**
   * Changes the registered models for the current login, for example their `baseUrl`. Called with a stored login, and
   * after each login and refresh in this process.
   */
  modifyModels?(
    models: (ProviderModelOptions & { provider: string })[],
    credentials: LoginCredentials,
  ): readonly ProviderModelOptions[];
}

export interface ProviderOptions {
  name?: string | undefined;
  /** Required with `models`, unless `stream` is given. */
  baseUrl?: string | undefined;
  /** The key itself, or `$NAME` for an environment variable. */
  apiKey?: string | undefined;
  /**
   * `anthropic-messages`, `openai-responses` or `openai-chat` (alias `openai-completions`). Default: the existing
   * provider's, else `openai-chat`. Ignored with `stream`.
   */
  api?: ProviderApi | string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** True: also sends the key as `Authorization: Bearer`. Default false. */
  authHeader?: boolean | undefined;
  /** The login of `/login NAME`; its result replaces a key. */
  oauth?: ProviderLoginOptions | undefined;
  /** Replaces the provider's models. Default: they stay. */
  models?: readonly ProviderModelOptions[] | undefined;
  /**
   * A missing requirement besides the key, in one sentence with the remedy: "Set AWS_REGION." Then no request is made
   * and no model is offered.
   */
  missing?: string | undefined;
  /**
   * Makes the `openai` SDK's client for each request of `openai-responses` and `openai-chat`, from these settings, with
   * its own address and credentials.
   */
  client?: ProviderCall["connect"];
  /**
   * Answers requests instead of a protocol. Yields events; the last one, `done` or `error`, has the whole answer. Or
   * returns the answer, or yields the events of `answer`, which checks and counts like the built-in protocols. An error
   * is a failed request; a ProviderError names its kind, and other errors are read like a provider's. Five minutes of
   * silence end the connection. The request is frozen.
   */
  stream?(
    request: ProviderStreamRequest,
    answer: ProviderAnswer,
  ): AsyncIterable<StreamEvent> | Promise<AssistantMessage>;
}
