import { type CompactionEvents, compactionEventRules } from "@bonsai-agent/compaction";
import {
  type CallOptions,
  type DecideRule,
  describeNotice,
  type EventRules,
  Lifecycle,
} from "@bonsai-agent/lifecycle";
import type { Message, ToolResultMessage } from "@bonsai-agent/messages";
import { messageSchema, usageSchema, userContentSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { CommandGuardResult, RunEvents, SessionEvents } from "./events.ts";
import { type AgentNotice, messageOf } from "./notice.ts";
import type { AbortGrace, HandlerCalls } from "./run/activity.ts";

const notify = { kind: "notify" } as const;
const cancellable: DecideRule<{ cancel?: boolean }> = {
  kind: "decide",
  onError: "report",
  exclusive: [],
  final: (result) => result.cancel === true,
  refusal: () => ({ cancel: true }),
  isResult: (value) => "cancel" in value || Object.keys(value).length === 0,
};

const bothLists = (earlier: readonly string[], later: readonly string[]) => [...earlier, ...later];

// Extensions may be plain JavaScript. A result that does not match counts as no answer and is named in a notice.
const text = z.string().optional();
const flag = z.boolean().optional();
const contents = z.array(userContentSchema);
const paths = z.array(z.string().min(1)).optional();
const customMessage = z.object({ customType: z.string(), content: z.union([z.string(), contents]) });
const commandResults = z.object({
  result: z
    .object({
      output: z.string(),
      exitCode: z.number().optional(),
      cancelled: z.boolean(),
      truncated: z.boolean(),
      fullOutputPath: text,
    })
    .optional(),
  operations: z.object({ exec: z.custom((value) => typeof value === "function") }).optional(),
});

function matches(shape: z.ZodRawShape): (value: object) => boolean {
  const schema = z.object(shape);
  return (value) => schema.safeParse(value).success;
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
    isResult: matches({ skillPaths: paths, promptPaths: paths, themePaths: paths }),
    merge: { skillPaths: bothLists, promptPaths: bothLists, themePaths: bothLists },
  },
  session_info_changed: notify,
  session_before_switch: cancellable,
  session_before_fork: cancellable,
};

/** A chained transformation: every handler runs, and an abort or a throw leaves the value as it is. */
function chained<Result extends object>(): Omit<DecideRule<Result>, "refusal"> & { refusal: () => Result } {
  return {
    kind: "decide",
    onError: "report",
    exclusive: [],
    final: () => false,
    refusal: () => ({}) as Result,
  };
}

/** Fails closed: a guard that throws or returns an invalid answer blocks. */
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

const runEventRules: EventRules<RunEvents> = {
  input: {
    ...chained(),
    isResult: matches({ text, images: contents.optional() }),
    final: (result) => result.action === "handled",
    transform: (event, { action, text, images }) =>
      action === "transform"
        ? { ...event, ...(text === undefined ? {} : { text }), ...(images === undefined ? {} : { images }) }
        : event,
  },
  before_agent_start: {
    ...chained(),
    isResult: matches({
      systemPrompt: text,
      message: z.union([customMessage, z.array(customMessage)]).optional(),
    }),
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
    isResult: matches({ messages: z.custom(areMessages).optional() }),
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
    isResult: matches({ content: contents.optional(), isError: flag, usage: usageSchema.optional() }),
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

/** The rules of all events, for `new Lifecycle({ rules })`. */
export const lifecycleEventRules: EventRules<LifecycleEvents> = {
  ...sessionEventRules,
  ...compactionEventRules,
  ...runEventRules,
};

/** The names of all events of compactions and of moves in the tree. */
export const compactionEventNames: ReadonlySet<string> = new Set(Object.keys(compactionEventRules));

/** A lifecycle without handlers. Its notices go to `onNotice`. */
export function defaultLifecycle(onNotice: (notice: AgentNotice) => void): Lifecycle<LifecycleEvents> {
  return new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice({ level: "warning", code: notice.type, message: describeNotice(notice) }),
  });
}

export type AgentEvents = Pick<Lifecycle<LifecycleEvents>, "hasHandlers" | "notify" | "decide">;

/** The lifecycle as an agent calls it: after an abort, it does not wait for hanging handlers. */
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

/** The replacement of a message must have the same role, and a result the same call. */
function isMessageResult({ message }: { message?: unknown }, payload: object): boolean {
  if (message === undefined) return true;
  const checked = messageSchema.safeParse(message);
  if (!checked.success) return false;
  const { message: original } = payload as { message: Message };
  const { role, toolCallId } = checked.data as Partial<ToolResultMessage>;
  return role === original.role && (original.role !== "toolResult" || toolCallId === original.toolCallId);
}

const isGuard = matches({ block: flag, reason: text });

/** A guard's fields, or an empty object: other fields alone may have been meant as a refusal. */
function isGuardResult(value: { block?: unknown; reason?: unknown }): boolean {
  const isAnswer = value.block !== undefined || value.reason !== undefined;
  return (
    isGuard(value) && (isAnswer || Object.keys(value).every((name) => name === "block" || name === "reason"))
  );
}

/** As a guard, or the output of a command that the extension ran, or the place to run it. */
function isCommandGuardResult(value: CommandGuardResult): boolean {
  const { result, operations, ...guard } = value;
  if (!commandResults.safeParse({ result, operations }).success) return false;
  return result === undefined && operations === undefined ? isGuardResult(guard) : isGuard(guard);
}

function areMessages(value: unknown): boolean {
  return Array.isArray(value) && value.every((message) => typeof message?.role === "string");
}
