import type { DecideRule, EventRules } from "@bonsai-agent/lifecycle";
import {
  isCommandGuardResult,
  isContextResult,
  isGuardResult,
  isInputResult,
  isMessageResult,
  isStartResult,
  isToolResult,
} from "./run-event-results.ts";
import type { CommandGuardResult, RunEvents } from "./run-events.ts";

const notify = { kind: "notify" } as const;

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
    refusal: (error) =>
      ({ block: true, reason: error instanceof Error ? error.message : String(error) }) as Result,
  };
}

/** How the events of a run behave. */
export const runEventRules: EventRules<RunEvents> = {
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
