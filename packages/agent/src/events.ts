import type { DecideEvent, NotifyEvent } from "@bonsai-agent/lifecycle";
import type {
  AssistantMessage,
  BonsaiError,
  ImageContent,
  Message,
  ToolResultMessage,
  Usage,
  UserContent,
} from "@bonsai-agent/messages";
import type { CatalogueModel, StreamEvent, ThinkingLevel } from "@bonsai-agent/models";
import type { CommandOperations } from "./tools/shell-command.ts";
import type { ToolResult } from "./tools/tool-registry.ts";

export type SessionStartReason = "startup" | "reload" | "new" | "resume" | "fork";

/** Files and folders of an extension; a relative path starts at the working folder. */
export interface ResourcePaths {
  skillPaths?: readonly string[];
  promptPaths?: readonly string[];
  themePaths?: readonly string[];
}

/** The events of opening, naming, leaving and forking sessions. */
export interface SessionEvents {
  /** A session was opened, or the extensions were reloaded. The reason is `startup` also for a start with an earlier session. */
  session_start: NotifyEvent<{
    type: "session_start";
    reason: SessionStartReason;
    /** The file that was left, with "new", "resume" and "fork". */
    previousSessionFile?: string;
  }>;
  /** The session is about to close, or the extensions are about to reload. Handlers have five seconds. */
  session_shutdown: NotifyEvent<{
    type: "session_shutdown";
    reason: "quit" | "reload" | "new" | "resume" | "fork";
    targetSessionFile?: string;
  }>;
  /** Asks for more folders of skills, prompt templates and themes, after each `session_start`. */
  resources_discover: DecideEvent<
    { type: "resources_discover"; cwd: string; reason: "startup" | "reload" },
    ResourcePaths
  >;
  /** The session was named or renamed, or its name was removed. */
  session_info_changed: NotifyEvent<{ type: "session_info_changed"; name: string | undefined }>;
  /** The user wants a new session or another one. */
  session_before_switch: DecideEvent<
    { type: "session_before_switch"; reason: "new" | "resume"; targetSessionFile?: string },
    { cancel?: boolean }
  >;
  /** The user wants to continue in a copy. */
  session_before_fork: DecideEvent<
    { type: "session_before_fork"; entryId: string; position: "before" | "at" },
    { cancel?: boolean }
  >;
}

/** Origin of a text. */
export type InputSource = "interactive" | "rpc" | "print" | "extension";

/** Delivery of a text during a run. */
export type StreamingBehavior = "steer" | "followUp";

/** A text for the agent. */
export interface PromptInput {
  text: string;
  /** Sent with the text. */
  images?: readonly ImageContent[] | undefined;
  source: InputSource;
  /** True: calls of templates and skills are expanded. Default: true, except for extensions. */
  isExpanded?: boolean | undefined;
}

/** A message of an extension: stored, and shown to the model as the user's. */
export interface CustomInput {
  /** The kind of message, chosen by the extension. */
  customType: string;
  /** Shown to the model. */
  content: string | UserContent[];
  /** False: front ends do not show it. */
  display: boolean;
  /** For the extension; stored, never sent. */
  details?: unknown;
}

/** Result of a run. */
export interface RunResult {
  /**
   * `handled`: an extension took the text, nothing was sent. `paused`: a compaction under the setting
   * `afterThreshold: "wait"`; the next prompt continues the task. `queued`: the text waits, and the caller is a handler or
   * tool that the agent waits for.
   */
  status: "done" | "aborted" | "failed" | "handled" | "paused" | "queued";
  /** The last answer of the run, if there was one. */
  answer?: AssistantMessage | undefined;
  /** With the status `failed`. */
  error?: BonsaiError | undefined;
  /** Texts that were neither sent nor stored, oldest first; absent if there are none. */
  unsent?: readonly PromptInput[] | undefined;
}

/** Result of a handler for the user's text. */
interface InputResult {
  /** "handled": nothing is sent. Default "continue". */
  action?: "continue" | "transform" | "handled";
  /** Replaces the text, with `transform`. */
  text?: string;
  /** Replaces the images, with `transform`. */
  images?: ImageContent[];
}

/** Result of a command. */
export interface CommandOutput {
  /** Shown to the user and, except for `!!`, to the model: bounded like the output of the bash tool. */
  output: string;
  /** Absent if a signal stopped the command. */
  exitCode?: number | undefined;
  /** True if it was stopped before its end. */
  cancelled: boolean;
  /** True if `output` is only the end of the output. */
  truncated: boolean;
  /** File with the full output, if it was truncated. */
  fullOutputPath?: string | undefined;
}

/** A handler's decision about a command that the user typed. */
export interface CommandGuardResult {
  /** True: the command is not run. */
  block?: boolean;
  /** Why, for the user. */
  reason?: string;
  /** Stored as the output of the command, which is not run. The later of two counts. */
  result?: CommandOutput;
  /** Run the command elsewhere, if there is no `result`. The later of two count. */
  operations?: CommandOperations;
}

/** The events of an agent at work, in pi's names and shapes. */
export interface RunEvents {
  /** A text arrived, before anything else happens to it. A handler can change it or handle it alone. */
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
  /** A run is about to begin. A handler can change its system prompt or add messages. */
  before_agent_start: DecideEvent<
    { type: "before_agent_start"; prompt: string; images?: ImageContent[]; systemPrompt: string },
    {
      /** Stored after the input of the run; the messages of several handlers add up. */
      message?: CustomInput | readonly CustomInput[];
      /** For this run. */
      systemPrompt?: string;
    }
  >;
  /** A run begins. `agent_end` always follows. */
  agent_start: NotifyEvent<{ type: "agent_start" }>;
  /** The run is over, and its messages are stored. `messages` has them, oldest first. */
  agent_end: NotifyEvent<{ type: "agent_end"; messages: readonly Message[]; result: RunResult }>;
  /** A request is about to be made. `turnIndex` counts from 0 in each run. Its messages are stored next. */
  turn_start: NotifyEvent<{ type: "turn_start"; turnIndex: number; timestamp: number }>;
  /** The answer and the results of all its calls are stored. */
  turn_end: NotifyEvent<{
    type: "turn_end";
    turnIndex: number;
    message: AssistantMessage;
    toolResults: readonly ToolResultMessage[];
    messageEntryId: string;
    toolResultEntryIds: readonly string[];
  }>;
  /** A message begins. An answer is still empty. */
  message_start: NotifyEvent<{ type: "message_start"; message: Message }>;
  /** A part of an answer arrived. A second `start` discards the parts before it. */
  message_update: NotifyEvent<{
    type: "message_update";
    message: AssistantMessage;
    assistantMessageEvent: StreamEvent;
  }>;
  /** A message is complete and not yet stored. A handler can replace it with another of the same role. */
  message_end: DecideEvent<{ type: "message_end"; message: Message }, { message?: Message }>;
  /** The message is on disk. */
  message_stored: NotifyEvent<{ type: "message_stored"; message: Message; entryId: string }>;
  /** The messages of the next request. A handler can change them; the change is not stored. */
  context: DecideEvent<{ type: "context"; messages: readonly Message[] }, { messages?: readonly Message[] }>;
  /** The request in the provider's own format. A handler can return another payload. */
  before_provider_request: DecideEvent<{ type: "before_provider_request"; payload: unknown }, object>;
  /** Status and headers arrived, the answer has not. Header names are in lower case. */
  after_provider_response: NotifyEvent<{
    type: "after_provider_response";
    status: number;
    headers: Readonly<Record<string, string>>;
  }>;
  /** A tool is about to run. A handler can block it, or change `input` in place. */
  tool_call: DecideEvent<
    { type: "tool_call"; toolCallId: string; toolName: string; input: Record<string, unknown> },
    { block?: boolean; reason?: string; terminate?: boolean }
  >;
  /** The tool has finished. A handler can change the result before it is shown or stored. */
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
  /** The agent starts to handle a call. */
  tool_execution_start: NotifyEvent<{
    type: "tool_execution_start";
    toolCallId: string;
    toolName: string;
    args: Readonly<Record<string, unknown>>;
  }>;
  /** A tool shows its output so far. */
  tool_execution_update: NotifyEvent<{
    type: "tool_execution_update";
    toolCallId: string;
    toolName: string;
    args: Readonly<Record<string, unknown>>;
    partialResult: ToolResult;
  }>;
  /** The call is finished. `result` is the result as it will be stored. */
  tool_execution_end: NotifyEvent<{
    type: "tool_execution_end";
    toolCallId: string;
    toolName: string;
    result: ToolResult;
    isError: boolean;
  }>;
  /** The user typed a command after `!`. A handler can block it, supply its output, or run it elsewhere. */
  user_bash: DecideEvent<
    { type: "user_bash"; command: string; excludeFromContext: boolean; cwd: string },
    CommandGuardResult
  >;
  /** Another model was selected. */
  model_select: NotifyEvent<{
    type: "model_select";
    model: CatalogueModel;
    previousModel: CatalogueModel | undefined;
    source: "set" | "cycle" | "restore";
  }>;
  /** Another thinking level was selected. */
  thinking_level_select: NotifyEvent<{
    type: "thinking_level_select";
    level: ThinkingLevel;
    previousLevel: ThinkingLevel;
  }>;
}
