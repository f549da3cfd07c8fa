import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionPreparation } from "@bonsai-agent/compaction";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type { HandlerOptions } from "@bonsai-agent/extension/host";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { callsIn, type Message } from "@bonsai-agent/messages";
import { deepCopy } from "@bonsai-agent/messages/host";
import { piModel } from "./models/model.ts";
import { withBlocks } from "./models/requests.ts";
import { PiEvents } from "./models/streams.ts";
import { overlay, type PiExtension, type PiHandler, type PromptEvent } from "./pi-extension.ts";
import { turnEnding } from "./turn-end.ts";

/** How an extension of pi listens: events that are called otherwise here, and shapes that differ. */
export function piListening(pi: PiExtension) {
  return (event: string, handler: PiHandler, settings?: HandlerOptions): (() => void) => {
    const why = missingEvents[event];
    if (why !== undefined) {
      pi.notifyOnce(event, `listens to ${event}, which Bonsai never sends: ${why}`);
      return () => {};
    }
    if (event === "ui_prompt_start" || event === "ui_prompt_end")
      return pi.extension.keep(pi.prompts.on(event, promptListener(pi, handler)));
    const [name, adapted] = ourListener(pi, event, handler);
    return pi.api.on(name as "agent_end", adapted as never, settings);
  };
}

/** Our event in the place of pi's, and a handler of it. */
function ourListener(
  pi: PiExtension,
  event: string,
  handler: PiHandler,
): [event: string, handler: PiHandler] {
  if (event === "agent_settled") return ["agent_end", settled(handler)];
  if (event === "before_agent_start") return [event, starting(pi, handler)];
  if (event === "turn_end" && pi.isForPi) return [event, turnEnding(pi, handler)];
  const reasons = formerStarts[event];
  if (reasons !== undefined) return ["session_start", started(event, reasons, handler)];
  if (!pi.isForPi) return [event, handler];
  return [event, event === "message_update" ? severalUpdates(handler) : withPiShapes(pi, event, handler)];
}

/** No lifecycle emits these events, so that a throw is noticed here. */
function promptListener({ notifyOnce }: PiExtension, handler: PiHandler) {
  return async (event: PromptEvent, ctx: ExtensionContext): Promise<void> => {
    try {
      await handler(event, ctx);
    } catch (error) {
      notifyOnce(event.type, `failed in its handler for ${event.type}: ${String(error)}`);
    }
  };
}

/** A handler may answer with a prompt, or add to the parts of the prompt that it is shown. */
function starting({ api }: PiExtension, handler: PiHandler): PiHandler {
  return async (event, ctx) => {
    const systemPromptOptions = promptOptions(ctx.cwd, api.getActiveTools());
    // Of pi 1.5; a run that a message of an extension begins cannot be told from others here.
    const started = { ...event, messageType: "user", systemPromptOptions };
    const { systemPrompt: soFar } = event as { systemPrompt: string };
    const asChained = overlay(ctx, { getSystemPrompt: () => soFar });
    const result = (await handler(started, asChained)) as StartResult | undefined;
    const added = addedPrompt(systemPromptOptions);
    const message = result?.message && { message: { display: true, ...result.message } };
    if (added === "") return result && { ...result, ...message };
    const systemPrompt = result?.systemPrompt ?? soFar;
    return { ...result, ...message, systemPrompt: `${systemPrompt}\n\n${added}` };
  };
}

function withPiShapes({ notifyOnce }: PiExtension, event: string, handler: PiHandler): PiHandler {
  const payloadOf = (piPayloads as Record<string, ((payload: never) => object) | undefined>)[event];
  const resultOf = piResults[event];
  return async (payload, ctx) => {
    const result = await handler(payloadOf?.(payload as never) ?? payload, ctx);
    // pi overlooks what is no object, such as what a short function happens to give back.
    if (typeof result !== "object" || result === null) return undefined;
    if (resultOf === undefined) return result;
    const ours = resultOf(result as Record<string, unknown>);
    if (typeof ours !== "string") return ours;
    notifyOnce(event, `uses something that Bonsai does not support: ${ours}`);
    return undefined;
  };
}

/** Events of earlier versions of pi, by the reasons of `session_start` that took their place. */
const formerStarts: Readonly<Record<string, readonly string[]>> = {
  session_switch: ["new", "resume"],
  session_fork: ["fork"],
};

function started(type: string, reasons: readonly string[], handler: PiHandler): PiHandler {
  return (event, ctx) =>
    reasons.includes((event as { reason: string }).reason) ? handler({ ...event, type }, ctx) : undefined;
}

interface StartResult {
  systemPrompt?: string;
  message?: object;
}

/**
 * Bonsai's runs are settled when they end: compactions, retries and what was queued are behind them. The agent still
 * waits for the handlers themselves; as pi sees it, it is idle.
 */
function settled(handler: PiHandler): PiHandler {
  return (_event, ctx) => {
    const idle = overlay(ctx, { isIdle: () => !ctx.hasPendingMessages() });
    return handler({ type: "agent_settled" }, idle);
  };
}

/**
 * The updates of streamed answers in pi's shape. One of ours can be several of pi's; the text that all of them carry is
 * that of the last.
 */
function severalUpdates(handler: PiHandler): PiHandler {
  let events = new PiEvents();
  return async (payload, ctx) => {
    const update = payload as Payload<"message_update">;
    if (update.assistantMessageEvent.type === "start") events = new PiEvents();
    for (const assistantMessageEvent of events.of(update.assistantMessageEvent))
      if (!ofMessages.includes(assistantMessageEvent.type))
        await handler({ ...update, assistantMessageEvent }, ctx);
  };
}

/** For these, pi has `message_start` and `message_end`. */
const ofMessages: readonly string[] = ["start", "done", "error"];

type Payload<Name extends keyof LifecycleEvents> = PayloadOf<LifecycleEvents[Name]>;

/** Payloads as pi has them, for the events where ours differ. */
export const piPayloads = {
  /** Handlers of pi may change the messages in place: what the session holds must not change with them. */
  context: (event: Payload<"context">) => ({ ...event, messages: deepCopy(event.messages.map(withBlocks)) }),
  message_start: inBlocks<Payload<"message_start">>,
  message_end: inBlocks<Payload<"message_end">>,
  agent_end: (event: Payload<"agent_end">) => ({ ...event, messages: event.messages.map(withBlocks) }),
  session_before_compact: compactEvent,
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

/** Field by field: the path is not read for a handler that does not ask for it. */
function compactEvent(event: Payload<"session_before_compact">): object {
  const { type, reason, willRetry, signal, customInstructions } = event;
  return {
    type,
    reason,
    willRetry,
    signal,
    ...("current" in event ? { current: event.current } : {}),
    ...(customInstructions === undefined ? {} : { customInstructions }),
    preparation: piPreparation(event.preparation),
    get branchEntries() {
      return event.branchEntries;
    },
  };
}

const originals = new WeakMap<object, CompactionPreparation>();

function piPreparation(preparation: CompactionPreparation): object {
  const { fileOps, messagesToSummarize, turnPrefixMessages } = preparation;
  const made = {
    ...preparation,
    messagesToSummarize: messagesToSummarize.map(withBlocks),
    turnPrefixMessages: turnPrefixMessages.map(withBlocks),
    fileOps: piFileOperations(fileOps, [...messagesToSummarize, ...turnPrefixMessages]),
  };
  originals.set(made, preparation);
  return made;
}

/** Bonsai's preparation behind one that a handler of pi got. */
export function originalPreparation(preparation: CompactionPreparation): CompactionPreparation {
  return originals.get(preparation) ?? preparation;
}

export interface PiFileOperations {
  read: Set<string>;
  written: Set<string>;
  edited: Set<string>;
}

/** Modified files are sorted by the tool that wrote them; one that both touched counts as edited. */
export function piFileOperations(
  { read, modified }: CompactionPreparation["fileOps"],
  messages: readonly Message[],
): PiFileOperations {
  const calls = messages.flatMap(callsIn);
  const pathsOf = (tool: string) =>
    new Set(calls.filter(({ name }) => name === tool).map((call) => call.arguments.path));
  const [writes, edits] = [pathsOf("write"), pathsOf("edit")];
  const isWritten = (path: string) => writes.has(path) && !edits.has(path);
  return {
    read: new Set(read),
    written: new Set(modified.filter(isWritten)),
    edited: new Set(modified.filter((path) => !isWritten(path))),
  };
}

type Result = Readonly<Record<string, unknown>>;

/** Results of handlers that were written for pi, in our shapes; a string is a notice about what cannot be done. */
const piResults: Readonly<Record<string, (result: Result) => Result | string | undefined>> = {
  tool_call: ({ block, reason, terminate }) =>
    block === true ? { block, terminate, ...(reason === undefined ? {} : { reason }) } : undefined,
  session_before_fork: ({ cancel }) => (cancel === true ? { cancel } : undefined),
  user_bash: userBashResult,
};

/**
 * Operations are the same here. Of a result, pi wants fewer fields. An answer that is neither refuses the command: who
 * wanted it to run elsewhere must not see it run here.
 */
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
      output: String(output),
      cancelled,
      truncated,
      ...(typeof exitCode === "number" ? { exitCode } : {}),
      ...(typeof fullOutputPath === "string" ? { fullOutputPath } : {}),
    },
  };
}

/** Events of pi that never come here, each with why. */
const missingEvents: Readonly<Record<string, string>> = {
  project_trust: "only the user grants trust, before any extension loads",
  context_with_system: "use context for the messages and before_agent_start for the system prompt",
  mcp_servers_change: "the extension @bonsai-agent/mcp runs the servers and sends no events",
  provider_stream_event: "use message_update, which has the same form for all providers",
  cache_warming_decision: "Bonsai does not keep caches warm",
  before_provider_headers: "set headers in registerProvider, or use before_provider_request",
  agent_before_settle: "use agent_end; sendMessage and appendEntry add to the session",
};

/** The parts of a system prompt, as pi shows them to handlers of `before_agent_start`, who may change them. */
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

/** A fresh set: Bonsai's prompt is one text, so that only what a handler adds can be taken. */
export function promptOptions(cwd: string, selectedTools: string[] = []): PromptOptions {
  return {
    cwd,
    selectedTools,
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [],
    appendSystemPrompt: "",
    sections: {},
    contextFiles: [],
    skills: [],
  };
}

/** What a handler added, as text behind the system prompt; empty where it added nothing. */
function addedPrompt({ promptGuidelines, appendSystemPrompt, sections }: PromptOptions): string {
  const parts = [
    promptGuidelines.map((line) => `- ${line}`).join("\n"),
    appendSystemPrompt,
    ...Object.entries(sections).map(([name, text]) => `<${name}>\n${text}\n</${name}>`),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}
