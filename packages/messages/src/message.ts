import type { CacheRules, Usage } from "./usage.ts";

export interface UserMessage {
  role: "user";
  content: string | UserContent[];
  /** What the user typed, where a template or a skill made the content of it, like `/review src`. */
  typed?: string | undefined;
  /** Milliseconds since the epoch, here and in every message. */
  timestamp: number;
}

/** The kinds that mean something here; a file may hold others ("pending", "deferred", a later program's). */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | (string & {});

export interface AssistantMessage {
  role: "assistant";
  content: AssistantContent[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: StopReason;
  /** The stop reason in the provider's own words. */
  rawStopReason?: string | undefined;
  errorMessage?: string | undefined;
  /** The model that answered, where it is not the one that was asked. */
  responseModel?: string | undefined;
  responseId?: string | undefined;
  timestamp: number;
}

export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: UserContent[];
  details?: unknown;
  /** What the tool's own model requests used: cost, never part of the context. */
  usage?: Usage | undefined;
  isError: boolean;
  /** How long the tool took, with whatever was asked about it. Absent where that was less than a second. */
  durationMs?: number | undefined;
  timestamp: number;
}

/** A command that the user ran by hand. */
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode?: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string | undefined;
  /** True for `!!` commands: never shown to the model. */
  excludeFromContext?: boolean | undefined;
  timestamp: number;
}

/** A message that an extension put into the context. */
export interface CustomMessage {
  role: "custom";
  customType: string;
  content: string | UserContent[];
  display: boolean;
  details?: unknown;
  timestamp: number;
}

/** Prompt sections and tool declarations as pi records them. Not conversation: estimates skip it. */
export interface SystemMessage {
  role: "system";
  content?: unknown;
  timestamp?: number | undefined;
}

/** The view of a `branch_summary` entry. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string | null;
  /** True for a branch that was merged; else it was left. */
  isMerge?: boolean | undefined;
  timestamp: number;
}

/** The view of a `compaction` entry. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  /** True where the request offers the tool `recall`: then the model is told what the ids in the summary are good for. */
  offersRecall?: boolean | undefined;
  timestamp: number;
}

export type Message =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | SystemMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage;

export type MessageRole = Message["role"];

/** Plain text. */
export interface TextContent {
  type: "text";
  text: string;
  /** Opaque: given back to the provider as it came, here and in the other signatures. */
  textSignature?: string | undefined;
}

/** An image, base64-encoded. */
export interface ImageContent {
  type: "image";
  /** Base64, without a data-URL prefix. */
  data: string;
  mimeType: string;
}

/** A model's reasoning; `thinkingSignature` binds it to the request prefix it was made for. */
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string | undefined;
  /** True when the provider withheld the text: all there is stands, encrypted, in the signature. */
  redacted?: boolean | undefined;
}

/** A call of a tool by the model. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string | undefined;
  /** Where the provider keeps tools apart that were loaded later. */
  namespace?: string | undefined;
}

export type UserContent = TextContent | ImageContent;
export type AssistantContent = TextContent | ThinkingContent | ToolCall;

/** US dollars per million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A model, as far as sizes and prices go. */
export interface Model {
  provider: string;
  id: string;
  name?: string | undefined;
  /** Tokens; absent or 0 where unknown. */
  contextWindow?: number | undefined;
  /** Tokens; absent where unknown. */
  maxOutputTokens?: number | undefined;
  usdPerMillionTokens?: ModelPrices | undefined;
  /** The accepted input. Default: text and images. */
  input?: readonly ("text" | "image")[] | undefined;
  /** Default: `usualCacheRules`. */
  cacheRules?: CacheRules | undefined;
}
