import {
  type Agent,
  type AgentNotice,
  type LifecycleEvents,
  lifecycleEventRules,
  type RunResult,
} from "@bonsai-agent/agent";
import type { Handler } from "@bonsai-agent/lifecycle";
import { BonsaiError, contentText } from "@bonsai-agent/messages";
import { closestNames, deepCopy } from "@bonsai-agent/messages/host";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import { thinkingLevels } from "@bonsai-agent/models";
import type { CustomEntry, Session } from "@bonsai-agent/session";
import { z } from "zod";
import type { ExecOptions, ExtensionAPI } from "../api/extension-api.ts";
import { execProgram } from "./exec-program.ts";
import { badArgument, failureText, refusalNotice } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";
import { registering } from "./registering.ts";

/** The API object of one extension. Its functions need no `this`. */
export function makeApi(runtime: ExtensionRuntime): ExtensionAPI {
  const { scope, host, registry } = runtime;
  return {
    ...guarded(runtime, {
      on: listening(runtime),
      ...registering(runtime),
      exec: (command: string, args: string[], options?: ExecOptions) =>
        execProgram(command, args, { ...options, cwd: options?.cwd ?? host.cwd }),
    }),
    ...sessionCalls(runtime),
    ...agentCalls(runtime),
    ...toolCalls(runtime),
    events: registry.bus(scope),
  };
}

/** Refuses calls of an unloaded extension. A failed registration is a notice, and the rest of the extension works. */
function guarded<Calls extends object>({ scope, host }: ExtensionRuntime, calls: Calls): Calls {
  const guard =
    (name: string, call: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      scope.checkLoaded(name);
      try {
        return call(...args);
      } catch (error) {
        if (name.startsWith("get") || scope.isUnloaded) throw error;
        host.onNotice(refusalNotice(scope, error));
        return () => {};
      }
    };
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guard(name, call)])) as Calls;
}

function listening({ scope, host, context }: ExtensionRuntime): ExtensionAPI["on"] {
  const unknown = new Set<string>();
  return (event, handler, { onError } = {}) => {
    if (typeof event !== "string") throw badArgument(scope, "on", "the name of an event", event);
    if (typeof handler !== "function") throw badArgument(scope, `on("${event}", …)`, "a function", handler);
    if (!Object.hasOwn(lifecycleEventRules, event)) {
      if (!unknown.has(event)) host.onNotice(unknownEvent(scope.source, event));
      unknown.add(event);
      return () => {};
    }
    const called: Handler<LifecycleEvents[typeof event]> = (payload, { signal }) =>
      runOf(scope, () => handler(payload, context(signal))) as never;
    const options = { source: scope.source, onError };
    return scope.keep(host.lifecycle.on(event, called, options as never));
  };
}

function unknownEvent(source: string, event: string): AgentNotice {
  const near = closestNames(event, Object.keys(lifecycleEventRules), 2);
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  return {
    level: "warning",
    code: "extension_event_unknown",
    message: `${source} listens to ${event}, which is not an event.${meant}`,
  };
}

/** Calls that need a session, but no agent. */
function sessionCalls({ scope, host }: ExtensionRuntime) {
  const session = (call: string): Session => {
    scope.checkStarted(call);
    const open = host.session();
    if (open === undefined) throw scope.notStarted(call);
    return open;
  };
  return {
    appendEntry(customType, data) {
      const open = session("appendEntry");
      if (typeof customType !== "string" || customType === "")
        throw badArgument(scope, "appendEntry", "a non-empty string as customType", customType);
      const entry = open.append({ type: "custom", customType, ...(data === undefined ? {} : { data }) });
      host.onEntry?.(entry as CustomEntry);
      return entry.id;
    },
    setSessionName(name) {
      const open = session("setSessionName");
      if (typeof name !== "string") throw badArgument(scope, "setSessionName", "a string", name);
      open.append({ type: "session_info", name });
      // Does not wait for handlers. The lifecycle reports handlers that fail.
      void host.lifecycle.notify("session_info_changed", { type: "session_info_changed", name: open.name });
    },
    getSessionName: () => session("getSessionName").name,
    setLabel(targetId, label) {
      const open = session("setLabel");
      if (typeof targetId !== "string" || open.entry(targetId) === undefined)
        throw badArgument(scope, "setLabel", "the id of an entry in this session", targetId);
      if (label !== undefined && typeof label !== "string")
        throw badArgument(scope, "setLabel", "a string, or undefined to remove the label", label);
      open.append({ type: "label", targetId, ...(label === undefined ? {} : { label }) });
    },
  } satisfies Partial<ExtensionAPI>;
}

/** @throws BonsaiError `extension_unloaded`, `extension_not_started`, `extension_needs_agent` */
function agentFor({ scope, host }: ExtensionRuntime, call: string): Agent {
  scope.checkStarted(call);
  const agent = host.agent();
  if (agent !== undefined) return agent;
  throw new BonsaiError({
    code: "extension_needs_agent",
    message: `${scope.source} called ${call}, but no agent is running here.`,
    hint: "Commands such as `bonsai compact` open a session without an agent. Catch this error in the extension, or use the extension in an agent session (`bonsai` or `bonsai -p`).",
  });
}

function agentCalls(runtime: ExtensionRuntime) {
  const { scope, host } = runtime;
  /** The extension does not wait for the work. A failure is a notice. */
  const inBackground = async (call: string, work: Promise<RunResult | undefined | void>) => {
    try {
      const result = await work;
      if (result?.status === "failed") throw result.error;
    } catch (error) {
      host.onNotice({
        level: "warning",
        /** A `sendMessage`, `sendUserMessage` or `setThinkingLevel` of an extension failed. */
        code: "extension_call_failed",
        message: failureText(`${call} of ${scope.source}`, error),
      });
    }
  };
  return {
    sendMessage(message, options) {
      void inBackground("sendMessage", agentFor(runtime, "sendMessage").sendMessage(message, options));
    },
    sendUserMessage(content, { deliverAs = "steer", expandPromptTemplates = false } = {}) {
      const agent = agentFor(runtime, "sendUserMessage");
      if (typeof content !== "string" && !userContents.safeParse(content).success)
        throw badArgument(scope, "sendUserMessage", "a string, or a list of text and image parts", content);
      const images = typeof content === "string" ? [] : content.filter((part) => part.type === "image");
      const prompted = agent.prompt(contentText(content), {
        source: "extension",
        behavior: deliverAs,
        isExpanded: expandPromptTemplates === true,
        ...(images.length === 0 ? {} : { images }),
      });
      void inBackground("sendUserMessage", prompted);
    },
    async setModel(model) {
      const agent = agentFor(runtime, "setModel");
      if (!modelSchema.safeParse(model).success)
        throw badArgument(scope, "setModel", "a model from ctx.modelRegistry", model);
      if (!runtime.context().modelRegistry.hasConfiguredAuth(model)) return false;
      await agent.setModel(model);
      return true;
    },
    getThinkingLevel: () => agentFor(runtime, "getThinkingLevel").state.thinking,
    setThinkingLevel(level) {
      const agent = agentFor(runtime, "setThinkingLevel");
      if (!thinkingLevels.includes(level))
        throw badArgument(scope, "setThinkingLevel", `one of ${thinkingLevels.join(", ")}`, level);
      void inBackground("setThinkingLevel", agent.setThinking(level));
    },
  } satisfies Partial<ExtensionAPI>;
}

const userContents = z.array(userContentSchema);

/** `modelRegistry.find` returns undefined for unknown models. */
const modelSchema = z.looseObject({
  provider: z.string(),
  id: z.string(),
  api: z.string(),
  baseUrl: z.string(),
  input: z.array(z.string()),
});

function toolCalls(runtime: ExtensionRuntime) {
  const { registry, scope } = runtime;
  return {
    getActiveTools: () => [...agentFor(runtime, "getActiveTools").tools.active],
    getAllTools() {
      const all = agentFor(runtime, "getAllTools").tools.allTools();
      return all.map(({ tool: { promptGuidelines }, declaration }) => {
        const own = registry.tools.get(declaration.name);
        return {
          // The extension may change its copy.
          ...deepCopy(declaration),
          ...(promptGuidelines === undefined ? {} : { promptGuidelines: [...promptGuidelines] }),
          ...(own === undefined ? {} : { extensionPath: own.scope.path }),
        };
      });
    },
    setActiveTools(names) {
      agentFor(runtime, "setActiveTools");
      if (!Array.isArray(names) || names.some((name) => typeof name !== "string"))
        throw badArgument(scope, "setActiveTools", "a list of names", names);
      scope.keepAs("choice of tools", registry.tools.choose(names));
    },
  } satisfies Partial<ExtensionAPI>;
}
