import type { CacheRules, Usage } from "./usage.ts";

export interface UserMessage {
  role: "user";
  content: string | UserContent[];
  /** The typed line if a template or skill made the content from it, such as `/review src`. */
  typed?: string | undefined;
  /** Milliseconds since the epoch, here and in every message. */
  timestamp: number;
}

/** The known reasons. A file may have others, of other programs. */
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
  /** The answering model, if it is not the requested one. */
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
  /** Usage of the tool's own model requests: cost, never part of the context. */
  usage?: Usage | undefined;
  isError: boolean;
  /** Duration of the tool, with its questions. Absent below a second. */
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

/** A message of an extension in the context. */
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
  /** True for a merged branch. Default: the user left the branch. */
  isMerge?: boolean | undefined;
  timestamp: number;
}

/** A summary that a provider made on its side. Only the model that it was made for gets it. */
export interface ProviderSummary {
  api: string;
  provider: string;
  model: string;
  /** Sent back as they came, before all messages. */
  items: readonly unknown[];
  /** Size of the items in the context, in tokens. */
  tokens: number;
  /** True if only the provider can read it. Default: the prose of the summary has the same text. */
  isSealed?: boolean | undefined;
}

/** The view of a `compaction` entry. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  /** The prose and the carried data, for every model that does not get `provider`. */
  summary: string;
  /** Replaces the prose for the model that it was made for. */
  provider?: ProviderSummary | undefined;
  tokensBefore: number;
  /** True if the request offers the tool `recall`, so that the summary explains its ids. */
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

/** Plain text. */
export interface TextContent {
  type: "text";
  text: string;
  /** Opaque, as in the other signatures: sent back to the provider unchanged. */
  textSignature?: string | undefined;
}

/** An image, base64-encoded. */
export interface ImageContent {
  type: "image";
  /** Base64, without a data-URL prefix. */
  data: string;
  mimeType: string;
}

/** A model's reasoning. `thinkingSignature` binds it to its request prefix. */
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string | undefined;
  /** True if the provider withheld the text. The signature has it encrypted. */
  redacted?: boolean | undefined;
}

/** A call of a tool by the model. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string | undefined;
  /** The provider's namespace for tools that were loaded later. */
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

/** The `compaction` settings of one model. Absent ones are those of every model. */
export interface ModelCompaction {
  threshold?:
    | {
        rule?:
          | "reserve"
          | "percent"
          | "size"
          | "outputLimit"
          | "reservePlusKeep"
          | "effectiveWindow"
          | undefined;
        reserveTokens?: number | undefined;
        percent?: number | undefined;
        sizeTokens?: number | undefined;
      }
    | undefined;
  economy?: "off" | "auto" | number | undefined;
  keepRecentTokens?: number | undefined;
}

/** A model with its sizes and prices. */
export interface Model {
  provider: string;
  id: string;
  name?: string | undefined;
  /** Tokens; absent or 0 if unknown. */
  contextWindow?: number | undefined;
  /** Tokens; absent if unknown. */
  maxOutputTokens?: number | undefined;
  usdPerMillionTokens?: ModelPrices | undefined;
  /** The accepted input. Default: text and images. */
  input?: readonly ("text" | "image")[] | undefined;
  /** Default: `usualCacheRules`. */
  cacheRules?: CacheRules | undefined;
  /** Default: the settings of every model. */
  compaction?: ModelCompaction | undefined;
}
