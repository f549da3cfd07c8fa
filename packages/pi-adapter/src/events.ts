import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionPreparation } from "@bonsai-agent/compaction";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type { HandlerOptions } from "@bonsai-agent/extension/host";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { callsIn, type Message } from "@bonsai-agent/messages";
import { deepCopy } from "@bonsai-agent/messages/host";
import { piModel } from "./models/model.ts";
import { PiEvents } from "./models/streams.ts";
import { withBlocks } from "./models/transcript.ts";
import { overlay, type PiExtension, type PiHandler, type PromptEvent } from "./pi-extension.ts";
import { turnEndHandler } from "./turn-end.ts";

/** pi's `on`: adapts the names of events, their payloads and the results of handlers. */
export function listenAsPi(pi: PiExtension) {
  return (event: string, handler: PiHandler, settings?: HandlerOptions): (() => void) => {
    const why = MISSING_EVENTS[event];
    if (why !== undefined) {
      pi.notifyOnce(event, `listens to ${event}, which Bonsai never sends: ${why}`);
      return () => {};
    }
    if (event === "ui_prompt_start" || event === "ui_prompt_end")
      return pi.extension.keep(pi.prompts.on(event, promptHandler(pi, handler)));
    const [name, adapted] = adaptHandler(pi, event, handler);
    return pi.api.on(name as "agent_end", adapted as never, settings);
  };
}

/** pi's events that Bonsai never sends, and the reasons. */
const MISSING_EVENTS: Readonly<Record<string, string>> = {
  project_trust: "only the user grants trust, before any extension loads",
  context_with_system: "use context for the messages and before_agent_start for the system prompt",
  mcp_servers_change: "the extension @bonsai-agent/mcp runs the servers and sends no events",
  provider_stream_event: "use message_update, which has the same form for all providers",
  cache_warming_decision: "Bonsai does not keep caches warm",
  before_provider_headers: "set headers in registerProvider, or use before_provider_request",
  agent_before_settle: "use agent_end; sendMessage and appendEntry add to the session",
};

/** Events of earlier versions of pi, by the reasons of today's `session_start`. */
const FORMER_STARTS: Readonly<Record<string, readonly string[]>> = {
  session_switch: ["new", "resume"],
  session_fork: ["fork"],
};

/** Bonsai's event for pi's, and its handler. */
function adaptHandler(pi: PiExtension, event: string, handler: PiHandler): [event: string, PiHandler] {
  if (event === "agent_settled") return ["agent_end", settledHandler(handler)];
  if (event === "before_agent_start") return [event, agentStartHandler(pi, handler)];
  const reasons = FORMER_STARTS[event];
  if (reasons !== undefined) return ["session_start", formerStartHandler(event, reasons, handler)];
  if (!pi.isForPi) return [event, handler];
  if (event === "turn_end") return [event, turnEndHandler(pi, handler)];
  if (event === "message_update") return [event, updateHandler(handler)];
  return [event, convertingHandler(event, handler)];
}

/** No lifecycle sends these events, so errors are caught here. */
function promptHandler({ notifyOnce }: PiExtension, handler: PiHandler) {
  return async (event: PromptEvent, ctx: ExtensionContext): Promise<void> => {
    try {
      await handler(event, ctx);
    } catch (error) {
      notifyOnce(event.type, `failed in its handler for ${event.type}: ${String(error)}`);
    }
  };
}

interface StartResult {
  systemPrompt?: string;
  message?: object;
}

/** The handler returns a prompt, or adds to the parts of the prompt. */
function agentStartHandler({ api }: PiExtension, handler: PiHandler): PiHandler {
  return async (event, ctx) => {
    const systemPromptOptions = promptOptions(ctx.cwd, api.getActiveTools());
    // pi 1.5 distinguishes runs that a message of an extension starts.
    const started = { ...event, messageType: "user", systemPromptOptions };
    const { systemPrompt: soFar } = event as { systemPrompt: string };
    const chained = overlay(ctx, { getSystemPrompt: () => soFar });
    const result = (await handler(started, chained)) as StartResult | undefined;
    const added = addedPrompt(systemPromptOptions);
    const message = result?.message && { message: { display: true, ...result.message } };
    if (added === "") return result && { ...result, ...message };
    const systemPrompt = result?.systemPrompt ?? soFar;
    return { ...result, ...message, systemPrompt: `${systemPrompt}\n\n${added}` };
  };
}

/** The parts of a system prompt. Handlers of `before_agent_start` may change them. */
interface PromptOptions {
  cwd: string;
  selectedTools: string[];
  toolSnippets: Record<string, string>;
  toolGuidelines: Record<string, string[]>;
  promptGuidelines: string[];
  appendSystemPrompt: string;
  sections: Record<string, string>;
  contextFiles: { path: string; content: string }[];
  skills: never[];
}

/** Empty parts: Bonsai's prompt is one text, so only additions count. */
export function promptOptions(cwd: string, selectedTools: string[] = []): PromptOptions {
  return {
    ...{ cwd, selectedTools, toolSnippets: {}, toolGuidelines: {}, promptGuidelines: [] },
    ...{ appendSystemPrompt: "", sections: {}, contextFiles: [], skills: [] },
  };
}

/** The additions of a handler as text. */
function addedPrompt({ promptGuidelines, appendSystemPrompt, sections }: PromptOptions): string {
  const parts = [
    promptGuidelines.map((line) => `- ${line}`).join("\n"),
    appendSystemPrompt,
    ...Object.entries(sections).map(([name, text]) => `<${name}>\n${text}\n</${name}>`),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function formerStartHandler(type: string, reasons: readonly string[], handler: PiHandler): PiHandler {
  return (event, ctx) =>
    reasons.includes((event as { reason: string }).reason) ? handler({ ...event, type }, ctx) : undefined;
}

/** A run of Bonsai ends after its retries, compactions and queued texts. pi calls the agent idle then. */
function settledHandler(handler: PiHandler): PiHandler {
  return (_event, ctx) => {
    const idle = overlay(ctx, { isIdle: () => !ctx.hasPendingMessages() });
    return handler({ type: "agent_settled" }, idle);
  };
}

/** One update of Bonsai can be several of pi's. All carry the message after the last one. */
function updateHandler(handler: PiHandler): PiHandler {
  const events = new PiEvents();
  return async (payload, ctx) => {
    const update = payload as Payload<"message_update">;
    for (const assistantMessageEvent of events.updates(update.assistantMessageEvent))
      await handler({ ...update, assistantMessageEvent }, ctx);
  };
}

function convertingHandler(event: string, handler: PiHandler): PiHandler {
  const payloadOf = (piPayloads as Record<string, ((payload: never) => object) | undefined>)[event];
  const resultOf = RESULTS[event] ?? ((result) => result);
  return async (payload, ctx) => {
    const result = await handler(payloadOf?.(payload as never) ?? payload, ctx);
    // pi ignores other values, such as those of one-line arrow functions.
    if (typeof result !== "object" || result === null) return undefined;
    return resultOf(result as Record<string, unknown>);
  };
}

type Payload<Name extends keyof LifecycleEvents> = PayloadOf<LifecycleEvents[Name]>;

/** Payloads in pi's shape. */
export const piPayloads = {
  /** A copy: handlers of pi may change the messages in place. */
  context: (event: Payload<"context">) => ({ ...event, messages: deepCopy(event.messages.map(withBlocks)) }),
  message_start: inBlocks<Payload<"message_start">>,
  message_end: inBlocks<Payload<"message_end">>,
  agent_end: (event: Payload<"agent_end">) => ({ ...event, messages: event.messages.map(withBlocks) }),
  /** A view: reads the path only if the handler does. */
  session_before_compact: (event: Payload<"session_before_compact">): object =>
    overlay(event, { preparation: piPreparation(event.preparation) }),
  session_compact_failed: (event: Payload<"session_compact_failed">) => ({
    errorMessage: event.error?.message,
    ...event,
  }),
  model_select: (event: Payload<"model_select">) => ({
    ...event,
    model: piModel(event.model),
    previousModel: event.previousModel === undefined ? undefined : piModel(event.previousModel),
  }),
};

function inBlocks<Event extends { message: Message }>(event: Event): Event {
  return { ...event, message: withBlocks(event.message) };
}

/** Sorts modified files by the tool that wrote them; a file of both tools counts as edited. */
function piPreparation(preparation: CompactionPreparation): object {
  const { fileOps, messagesToSummarize, turnPrefixMessages } = preparation;
  const calls = [...messagesToSummarize, ...turnPrefixMessages].flatMap(callsIn);
  const pathsOf = (tool: string) =>
    new Set(calls.filter(({ name }) => name === tool).map((call) => call.arguments.path));
  const [writes, edits] = [pathsOf("write"), pathsOf("edit")];
  const isWritten = (path: string) => writes.has(path) && !edits.has(path);
  return {
    ...preparation,
    messagesToSummarize: messagesToSummarize.map(withBlocks),
    turnPrefixMessages: turnPrefixMessages.map(withBlocks),
    fileOps: {
      read: new Set(fileOps.read),
      written: new Set(fileOps.modified.filter(isWritten)),
      edited: new Set(fileOps.modified.filter((path) => !isWritten(path))),
    },
  };
}

type Result = Readonly<Record<string, unknown>>;

/** Converts results of pi's handlers. */
const RESULTS: Readonly<Record<string, (result: Result) => Result | undefined>> = {
  tool_call: ({ block, reason, terminate }) =>
    block === true ? { block, terminate, ...(reason === undefined ? {} : { reason }) } : undefined,
  session_before_fork: ({ cancel }) => (cancel === true ? { cancel } : undefined),
  user_bash: userBashResult,
};

/** A result has fewer required fields in pi. An ambiguous answer blocks: the command may be meant to run elsewhere. */
function userBashResult({ result, operations }: Result): Result {
  if ((result === undefined) === (operations === undefined))
    return {
      block: true,
      reason: "an extension must answer user_bash with either operations or a result.",
    };
  if (operations !== undefined) return { operations };
  if (typeof result !== "object" || result === null) return { result };
  const { output = "", exitCode, cancelled = false, truncated = false, fullOutputPath } = result as Result;
  return {
    result: {
      ...{ output: String(output), cancelled, truncated },
      ...(typeof exitCode === "number" ? { exitCode } : {}),
      ...(typeof fullOutputPath === "string" ? { fullOutputPath } : {}),
    },
  };
}
