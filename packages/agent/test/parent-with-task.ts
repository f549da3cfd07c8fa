import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ToolResultMessage } from "@bonsai-agent/messages";
import { type CatalogueModel, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, type Session } from "@bonsai-agent/session";
import { z } from "zod";
import { Agent } from "../src/agent.ts";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import { agentSettings } from "../src/settings.ts";
import { type TaskDetails, taskTool } from "../src/task-tool.ts";
import { defineTool, type Tool } from "../src/tools/tool-registry.ts";
import { actor, testFolder } from "./scripted-agent.ts";

export const model: CatalogueModel = {
  ...actor,
  input: ["text"],
  usdPerMillionTokens: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
};

export const read = defineTool({
  name: "read",
  description: "Reads.",
  parameters: z.object({ path: z.string() }),
  execute: async ({ input }) => ({ content: [{ type: "text", text: `text of ${input.path}` }] }),
});

export const write = defineTool({
  name: "write",
  description: "Writes.",
  parameters: z.object({ path: z.string(), content: z.string() }),
  execute: async ({ input: { path } }) => ({
    content: [{ type: "text", text: "ok" }],
    details: { path, added: 3, removed: 1 },
  }),
});

/** Answers a request. */
export type ScriptedModel = (call: ProviderCall) => ScenarioAnswer;

/** A parent with the tool, and whatever its model and its sub-agents' model say. */
export function parentWith(
  play: ScriptedModel,
  options: { inMemory?: boolean; tools?: Tool[]; compaction?: object; limits?: object } = {},
) {
  const session = createSession({
    cwd: "/project",
    ...(options.inMemory ? {} : { file: join(testFolder(), "parent.jsonl") }),
  });
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const calls: ProviderCall[] = [];
  const models = new ModelClient({
    retry: { baseDelayMs: 0 },
    providers: {
      scripted: async () =>
        scriptedProvider((call) => {
          calls.push(call);
          return play(call);
        }),
    },
  });
  const settings = agentSettings({
    titles: false,
    ...(options.limits && { limits: options.limits }),
    compaction: { keepRecentTokens: 2_000, ...options.compaction },
  });
  const common = { models, model, settings, systemPrompt: "You are a test." };
  const tools = [read, write, ...(options.tools ?? [])];
  const task = taskTool({
    session,
    lifecycle,
    startAgent: (own) => new Agent({ ...common, ...own, tools, isSubAgent: true }),
  });
  const agent = new Agent({ ...common, session, lifecycle, tools: [...tools, task] });
  return { agent, session, lifecycle, calls };
}

export const isSubAgent = ({ tools }: ProviderCall) => !tools.some(({ name }) => name === "task");

export const delegate = (prompt = "Look into it.") => ({
  name: "task",
  arguments: { description: "Look into it", prompt },
});

export function taskResults(session: Session): ToolResultMessage[] {
  return session
    .entries()
    .flatMap((entry) =>
      entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
    )
    .filter(({ toolName }) => toolName === "task");
}

export function detailsOf(session: Session): TaskDetails {
  return taskResults(session)[0]!.details as TaskDetails;
}

/** The parent delegates once and then ends; the sub-agent does as told. */
export function delegating(sub: ScriptedModel): ScriptedModel {
  return (call) => {
    if (isSubAgent(call)) return sub(call);
    return call.messages.length === 1 ? { calls: [delegate()] } : { text: "All done." };
  };
}
