import { type CompactionEvents, compactionEventRules } from "@bonsai-agent/compaction";
import {
  type CallOptions,
  type DecideRule,
  describeNotice,
  type EventRules,
  Lifecycle,
} from "@bonsai-agent/lifecycle";
import type { CustomMessage, Message, ToolResultMessage } from "@bonsai-agent/messages";
import { messageSchema, usageSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { CommandGuardResult, RunEvents, SessionEvents } from "./events.ts";
import { type AgentNotice, messageOf } from "./notice.ts";
import type { AbortGrace, HandlerCalls } from "./run/activity.ts";
import { isResultContent } from "./tools/tool-registry.ts";

const notify = { kind: "notify" } as const;
const cancellable: DecideRule<{ cancel?: boolean }> = {
  kind: "decide",
  onError: "report",
  exclusive: [],
  final: (result) => result.cancel === true,
  refusal: () => ({ cancel: true }),
  isResult: (value) => "cancel" in value || Object.keys(value).length === 0,
};

/** Paths of several handlers add up. */
const bothLists = (earlier: readonly string[], later: readonly string[]) => [...earlier, ...later];

const resourceLists = ["skillPaths", "promptPaths", "themePaths"] as const;

function isResourcePaths(value: Fields<(typeof resourceLists)[number]>): boolean {
  const isPath = (path: unknown) => typeof path === "string" && path !== "";
  const lists = resourceLists.map((name) => value[name]).filter((list) => list !== undefined);
  return lists.every((list) => Array.isArray(list) && list.every(isPath));
}

const sessionEventRules: EventRules<SessionEvents> = {
  session_start: notify,
  session_shutdown: notify,
  resources_discover: {
    kind: "decide",
    onError: "report",
    exclusive: [],
    final: () => false,
    refusal: () => ({}),
    isResult: isResourcePaths,
    merge: { skillPaths: bothLists, promptPaths: bothLists, themePaths: bothLists },
  },
  session_info_changed: notify,
  session_before_switch: cancellable,
  session_before_fork: cancellable,
};

/** A chained transformation: nobody has the last word, and an abort or a throw leaves the value as it is. */
function chained<Result extends object>(): Omit<DecideRule<Result>, "refusal"> & { refusal: () => Result } {
  return {
    kind: "decide",
    onError: "report",
    exclusive: [],
    final: () => false,
    refusal: () => ({}) as Result,
  };
}

/** Fails closed: a guard that throws, or that gives back what is no answer, blocks. */
function blocking<Result extends { block?: boolean; reason?: string }>(): DecideRule<Result> {
  return {
    kind: "decide",
    onError: "cancel",
    exclusive: [],
    isResult: isGuardResult,
    final: (result) => result.block === true,
    refusal: (error) => ({ block: true, reason: messageOf(error) }) as Result,
  };
}

/** How the events of a run behave. */
const runEventRules: EventRules<RunEvents> = {
  input: {
    ...chained(),
    isResult: isInputResult,
    final: (result) => result.action === "handled",
    transform: (event, { action, text, images }) =>
      action === "transform"
        ? { ...event, ...(text === undefined ? {} : { text }), ...(images === undefined ? {} : { images }) }
        : event,
  },
  before_agent_start: {
    ...chained(),
    isResult: isStartResult,
    merge: { message: (earlier, later) => [earlier, later].flat() },
    transform: (event, { systemPrompt }) => (systemPrompt === undefined ? event : { ...event, systemPrompt }),
  },
  agent_start: notify,
  agent_end: notify,
  turn_start: notify,
  turn_end: notify,
  message_start: notify,
  message_update: notify,
  message_stored: notify,
  message_end: {
    ...chained(),
    isResult: isMessageResult,
    transform: (event, { message }) => (message === undefined ? event : { ...event, message }),
  },
  context: {
    ...chained(),
    isResult: isContextResult,
    transform: (event, { messages }) => (messages === undefined ? event : { ...event, messages }),
  },
  before_provider_request: {
    ...chained(),
    transform: (event, payload) => (Object.keys(payload).length === 0 ? event : { ...event, payload }),
  },
  after_provider_response: notify,
  tool_call: blocking(),
  tool_result: {
    ...chained(),
    isResult: isToolResult,
    transform: (event, { content, details, isError, usage }) => ({
      ...event,
      ...(content === undefined ? {} : { content }),
      ...(details === undefined ? {} : { details }),
      ...(isError === undefined ? {} : { isError }),
      ...(usage === undefined ? {} : { usage }),
    }),
  },
  tool_execution_start: notify,
  tool_execution_update: notify,
  tool_execution_end: notify,
  user_bash: {
    ...blocking<CommandGuardResult>(),
    exclusive: ["result", "operations"],
    isResult: isCommandGuardResult,
  },
  model_select: notify,
  thinking_level_select: notify,
};

/** Every event of a session at work. */
export interface LifecycleEvents extends SessionEvents, CompactionEvents, RunEvents {}

/** How every event behaves; `new Lifecycle({rules})` takes them. */
export const lifecycleEventRules: EventRules<LifecycleEvents> = {
  ...sessionEventRules,
  ...compactionEventRules,
  ...runEventRules,
};

/** The names of all events of compactions and of moves in the tree. */
export const compactionEventNames: ReadonlySet<string> = new Set(Object.keys(compactionEventRules));

/** A lifecycle without handlers whose notices go the way of all others. */
export function defaultLifecycle(onNotice: (notice: AgentNotice) => void): Lifecycle<LifecycleEvents> {
  return new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice({ level: "warning", code: notice.type, message: describeNotice(notice) }),
  });
}

export type AgentEvents = Pick<Lifecycle<LifecycleEvents>, "hasHandlers" | "notify" | "decide">;

/** The lifecycle as an agent calls it: a handler that hangs is left behind once the work was stopped. */
export function agentEvents(
  lifecycle: Lifecycle<LifecycleEvents>,
  { abortGrace, handlerCalls }: { abortGrace: AbortGrace; handlerCalls: HandlerCalls },
): AgentEvents {
  const limited = (options: CallOptions = {}) => ({ signal: abortGrace.signal, ...options });
  return {
    hasHandlers: (name) => lifecycle.hasHandlers(name),
    notify: (name, payload, options) =>
      handlerCalls.run(() => lifecycle.notify(name, payload, limited(options))),
    decide: (name, payload, options) =>
      handlerCalls.run(() => lifecycle.decide(name, payload, limited(options))),
  };
}

// Results of handlers may come from plain JavaScript. An invalid result is named in a notice and
// counts as no answer; it never breaks the run.

type Fields<Name extends string> = { readonly [Each in Name]?: unknown };

function isInputResult({ text, images }: Fields<"text" | "images">): boolean {
  return isTextOrNone(text) && isContentOrNone(images);
}

function isStartResult({ message, systemPrompt }: Fields<"message" | "systemPrompt">): boolean {
  return isTextOrNone(systemPrompt) && (message === undefined || [message].flat().every(isCustomMessage));
}

/** The message in the place of another must be one of the same kind, a result one for the same call. */
function isMessageResult({ message }: Fields<"message">, payload: object): boolean {
  if (message === undefined) return true;
  const checked = messageSchema.safeParse(message);
  if (!checked.success) return false;
  const { message: original } = payload as { message: Message };
  const { role, toolCallId } = checked.data as Partial<ToolResultMessage>;
  return role === original.role && (original.role !== "toolResult" || toolCallId === original.toolCallId);
}

function isContextResult({ messages }: Fields<"messages">): boolean {
  return messages === undefined || (Array.isArray(messages) && messages.every(hasRole));
}

function isToolResult({ content, isError, usage }: Fields<"content" | "isError" | "usage">): boolean {
  const isUsage = usage === undefined || usageSchema.safeParse(usage).success;
  return isContentOrNone(content) && isFlagOrNone(isError) && isUsage;
}

/** A guard's fields, or none; whoever gives back something else may have meant a no. */
function isGuardResult(value: Fields<"block" | "reason">): boolean {
  const { block, reason, ...others } = value;
  if (!isFlagOrNone(block) || !isTextOrNone(reason)) return false;
  return block !== undefined || reason !== undefined || Object.keys(others).length === 0;
}

/** The same, or what a command that the extension ran by itself has put out, or where it is to run. */
function isCommandGuardResult(value: Fields<"block" | "reason" | "result" | "operations">): boolean {
  const { result, operations, ...guarded } = value;
  if (result !== undefined && !commandOutput.safeParse(result).success) return false;
  if (operations !== undefined && !commandOperations.safeParse(operations).success) return false;
  const isAnswered = result !== undefined || operations !== undefined;
  return isGuardResult(isAnswered ? { ...guarded, block: guarded.block ?? false } : guarded);
}

const commandOperations = z.object({ exec: z.custom((value) => typeof value === "function") });

const commandOutput = z.object({
  output: z.string(),
  exitCode: z.number().optional(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  fullOutputPath: z.string().optional(),
});

function isFlagOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isContentOrNone(value: unknown): boolean {
  return value === undefined || isResultContent(value);
}

function hasRole(message: unknown): boolean {
  return typeof (message as { role?: unknown } | null | undefined)?.role === "string";
}

function isCustomMessage(value: unknown): boolean {
  const { customType, content } = (value ?? {}) as Partial<CustomMessage>;
  return typeof customType === "string" && (typeof content === "string" || isResultContent(content));
}
