import type { AssistantContent, UserContent } from "./content.ts";
import type { Usage } from "./usage.ts";

export interface UserMessage {
  role: "user";
  content: string | UserContent[];
  /** Milliseconds since the epoch, here and in every message. */
  timestamp: number;
}

export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

export interface AssistantMessage {
  role: "assistant";
  content: AssistantContent[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  timestamp: number;
}

export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: UserContent[];
  details?: unknown;
  isError: boolean;
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
  fullOutputPath?: string;
  /** True for `!!` commands: never shown to the model. */
  excludeFromContext?: boolean;
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
  timestamp?: number;
}

/** The view of a `branch_summary` entry. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string | null;
  timestamp: number;
}

/** The view of a `compaction` entry. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
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
