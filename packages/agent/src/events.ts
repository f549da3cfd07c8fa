import type { DecideEvent, NotifyEvent } from "@bonsai-agent/lifecycle";
import type {
  AssistantMessage,
  ImageContent,
  Message,
  ToolResultMessage,
  Usage,
  UserContent,
} from "@bonsai-agent/messages";
import type { CatalogueModel, StreamEvent, ThinkingLevel } from "@bonsai-agent/models";
import type { CustomInput, InputSource, RunResult, StreamingBehavior } from "./run/input.ts";
import type { CommandOperations, CommandOutput } from "./run-command.ts";
import type { ToolResult } from "./tool-registry.ts";

export type SessionStartReason = "startup" | "reload" | "new" | "resume" | "fork";

/** Files and folders that an extension brings; a relative path starts at the working folder. */
export interface ResourcePaths {
  skillPaths?: readonly string[];
  promptPaths?: readonly string[];
  themePaths?: readonly string[];
}

/** The events of opening, naming, leaving and forking sessions. */
export interface SessionEvents {
  /** The session is open; fired by `Agent.start`. "startup" also where the program starts with a session from before. */
  session_start: NotifyEvent<{
    type: "session_start";
    reason: SessionStartReason;
    /** The file that was left, with "new", "resume" and "fork". */
    previousSessionFile?: string;
  }>;
  /** The session is about to be closed; handlers have five seconds. */
  session_shutdown: NotifyEvent<{
    type: "session_shutdown";
    reason: "quit" | "reload" | "new" | "resume" | "fork";
    targetSessionFile?: string;
  }>;
  /** After each `session_start`, also of another session: where else skills, prompt templates and themes are. Lists add up. */
  resources_discover: DecideEvent<
    { type: "resources_discover"; cwd: string; reason: "startup" | "reload" },
    ResourcePaths
  >;
  /** The session has another name, or none. */
  session_info_changed: NotifyEvent<{ type: "session_info_changed"; name: string | undefined }>;
  /** Before another session takes the place of this one. */
  session_before_switch: DecideEvent<
    { type: "session_before_switch"; reason: "new" | "resume"; targetSessionFile?: string },
    { cancel?: boolean }
  >;
  /** Before a new session is made of a part of this one. */
  session_before_fork: DecideEvent<
    { type: "session_before_fork"; entryId: string; position: "before" | "at" },
    { cancel?: boolean }
  >;
}

/** Read by the loop: what an extension made of the user's text. */
export interface InputResult {
  /** "handled": nothing is sent. "continue" and nothing at all are the same. */
  action?: "continue" | "transform" | "handled";
  /** With `transform`: in the place of the text. */
  text?: string;
  /** With `transform`: in the place of the images. */
  images?: ImageContent[];
}

/** What a handler decides about a command that the user typed. */
export interface CommandGuardResult {
  /** True: the command is not run. */
  block?: boolean;
  /** Why, for the user. */
  reason?: string;
  /** The extension ran it itself: this is stored. Of two, the later stands. */
  result?: CommandOutput;
  /** The command runs through these, not here; a `result` comes before them. Of two, the later stand. */
  operations?: CommandOperations;
}

/** The events of an agent at work, in pi's names and shapes. */
export interface RunEvents {
  /** A text came in, before anything is made of it. */
  input: DecideEvent<
    {
      type: "input";
      text: string;
      images?: ImageContent[];
      source: InputSource;
      /** How it will be delivered while the agent works; absent when it is idle. */
      streamingBehavior?: StreamingBehavior;
    },
    InputResult
  >;
  /** Before a run begins: the system prompt can be changed, messages can be added. */
  before_agent_start: DecideEvent<
    { type: "before_agent_start"; prompt: string; images?: ImageContent[]; systemPrompt: string },
    {
      /** Put into the context behind what the run begins with, and stored; those of several handlers add up. */
      message?: CustomInput | readonly CustomInput[];
      /** For this run. */
      systemPrompt?: string;
    }
  >;
  /** A run begins. */
  agent_start: NotifyEvent<{ type: "agent_start" }>;
  /** `messages`: what the run added, oldest first. */
  agent_end: NotifyEvent<{ type: "agent_end"; messages: readonly Message[]; result: RunResult }>;
  /** Before a request, and before what was said for it is stored; `turnIndex` counts from 0 in each run. */
  turn_start: NotifyEvent<{ type: "turn_start"; turnIndex: number; timestamp: number }>;
  /** An answer and the results of its calls are stored. */
  turn_end: NotifyEvent<{
    type: "turn_end";
    turnIndex: number;
    message: AssistantMessage;
    toolResults: readonly ToolResultMessage[];
    messageEntryId: string;
    toolResultEntryIds: readonly string[];
  }>;
  /** A message begins: an answer that streams in, or one that is whole. */
  message_start: NotifyEvent<{ type: "message_start"; message: Message }>;
  /** A piece of an answer came. */
  message_update: NotifyEvent<{
    type: "message_update";
    message: AssistantMessage;
    assistantMessageEvent: StreamEvent;
  }>;
  /** Before the message is stored; the replacement keeps its role. */
  message_end: DecideEvent<{ type: "message_end"; message: Message }, { message?: Message }>;
  /** The message is on disk now, as it stands there. */
  message_stored: NotifyEvent<{ type: "message_stored"; message: Message; entryId: string }>;
  /** The messages of the next request; nothing is stored of a change. */
  context: DecideEvent<{ type: "context"; messages: readonly Message[] }, { messages?: readonly Message[] }>;
  /** The request as it goes over the wire; the result is the whole new payload. */
  before_provider_request: DecideEvent<{ type: "before_provider_request"; payload: unknown }, object>;
  /** The head of the provider's answer; names of headers in lower case. */
  after_provider_response: NotifyEvent<{
    type: "after_provider_response";
    status: number;
    headers: Readonly<Record<string, string>>;
  }>;
  /** `input` can be changed in place. */
  tool_call: DecideEvent<
    { type: "tool_call"; toolCallId: string; toolName: string; input: Record<string, unknown> },
    { block?: boolean; reason?: string; terminate?: boolean }
  >;
  /** A tool has ended: its result can be changed before it is stored. */
  tool_result: DecideEvent<
    {
      type: "tool_result";
      toolCallId: string;
      toolName: string;
      input: Record<string, unknown>;
      content: readonly UserContent[];
      details: unknown;
      isError: boolean;
      usage?: Usage;
    },
    { content?: UserContent[]; details?: unknown; isError?: boolean; usage?: Usage }
  >;
  /** Before anything is done for a call. */
  tool_execution_start: NotifyEvent<{
    type: "tool_execution_start";
    toolCallId: string;
    toolName: string;
    args: Readonly<Record<string, unknown>>;
  }>;
  /** What a tool shows while it runs. */
  tool_execution_update: NotifyEvent<{
    type: "tool_execution_update";
    toolCallId: string;
    toolName: string;
    args: Readonly<Record<string, unknown>>;
    partialResult: ToolResult;
  }>;
  /** The result of a call, as it will be stored. */
  tool_execution_end: NotifyEvent<{
    type: "tool_execution_end";
    toolCallId: string;
    toolName: string;
    result: ToolResult;
    isError: boolean;
  }>;
  /** Before a command that the user typed is run. */
  user_bash: DecideEvent<
    { type: "user_bash"; command: string; excludeFromContext: boolean; cwd: string },
    CommandGuardResult
  >;
  /** Another model was chosen. */
  model_select: NotifyEvent<{
    type: "model_select";
    model: CatalogueModel;
    previousModel: CatalogueModel | undefined;
    source: "set" | "cycle" | "restore";
  }>;
  /** Another level of thinking was chosen. */
  thinking_level_select: NotifyEvent<{
    type: "thinking_level_select";
    level: ThinkingLevel;
    previousLevel: ThinkingLevel;
  }>;
}
