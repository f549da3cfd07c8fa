import { type CompactionEvents, compactionEventRules } from "@bonsai-agent/compaction";
import { type DecideRule, describeNotice, type EventRules, Lifecycle } from "@bonsai-agent/lifecycle";
import type { Message, ToolResultMessage } from "@bonsai-agent/messages";
import { messageSchema, usageSchema, userContentSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { CommandGuardResult, RunEvents, SessionEvents } from "./events.ts";
import { type AgentNotice, messageOf } from "./notice.ts";

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
    ...chained(),
    isResult: matches({ skillPaths: paths, promptPaths: paths, themePaths: paths }),
    merge: { skillPaths: bothLists, promptPaths: bothLists, themePaths: bothLists },
  },
  session_info_changed: notify,
  session_before_switch: cancellable,
  session_before_fork: cancellable,
};

/** Every handler runs, and each changes the value of the one before. An abort or a throw leaves it unchanged. */
function chained<Result extends object>(): Omit<DecideRule<Result>, "refusal"> & { refusal: () => Result } {
  return {
    kind: "decide",
    onError: "report",
    exclusive: [],
    final: () => false,
    refusal: () => ({}) as Result,
  };
}

/** The event with the fields of a result that are defined. */
function withFields<Event extends object>(event: Event, fields: object): Event {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...event, ...Object.fromEntries(given) };
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
      action === "transform" ? withFields(event, { text, images }) : event,
  },
  before_agent_start: {
    ...chained(),
    isResult: matches({
      systemPrompt: text,
      message: z.union([customMessage, z.array(customMessage)]).optional(),
    }),
    merge: { message: (earlier, later) => [earlier, later].flat() },
    transform: (event, { systemPrompt }) => withFields(event, { systemPrompt }),
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
    transform: (event, { message }) => withFields(event, { message }),
  },
  context: {
    ...chained(),
    isResult: matches({ messages: z.array(z.object({ role: z.string() })).optional() }),
    transform: (event, { messages }) => withFields(event, { messages }),
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
    transform: (event, { content, details, isError, usage }) =>
      withFields(event, { content, details, isError, usage }),
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

/** A lifecycle without handlers. Its notices go to `onNotice`. */
export function defaultLifecycle(onNotice: (notice: AgentNotice) => void): Lifecycle<LifecycleEvents> {
  return new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice({ level: "warning", code: notice.type, message: describeNotice(notice) }),
  });
}

export type AgentEvents = Pick<Lifecycle<LifecycleEvents>, "hasHandlers" | "notify" | "decide">;

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

/** Accepts `block`, `reason`, both or neither: other fields alone may have been meant as a refusal. */
function isGuardResult(value: { block?: unknown; reason?: unknown }): boolean {
  const isAnswer = value.block !== undefined || value.reason !== undefined;
  return (
    isGuard(value) && (isAnswer || Object.keys(value).every((name) => name === "block" || name === "reason"))
  );
}

/** Accepts a guard's result, with the output of the command or the place to run it. */
function isCommandGuardResult({ result, operations, ...guard }: CommandGuardResult): boolean {
  if (!commandResults.safeParse({ result, operations }).success) return false;
  return result === undefined && operations === undefined ? isGuardResult(guard) : isGuard(guard);
}
