import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { summarySections } from "@bonsai-agent/compaction";
import type { CompactionPolicy } from "@bonsai-agent/compaction/host";
import { Lifecycle, type LifecycleNotice, type SetTimer } from "@bonsai-agent/lifecycle";
import { contentText, type Message } from "@bonsai-agent/messages";
import { type CatalogueModel, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, type Session } from "@bonsai-agent/session";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { Agent } from "../src/agent.ts";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import type { AgentNotice } from "../src/notice.ts";
import type { AgentOptions } from "../src/run/agent-parts.ts";
import { agentSettings } from "../src/settings.ts";
import { defineTool, type Tool } from "../src/tools/tool-registry.ts";

export const actor: CatalogueModel = {
  provider: "scripted",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: false,
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
};

/** A folder that lasts as long as the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Text of about so many tokens. */
export const filler = (count: number): string => "abc ".repeat(count);

/** Gives back a text, and as many tokens more as it is asked for. */
export const echo: Tool = defineTool({
  name: "echo",
  description: "Says it again.",
  parameters: z.object({ text: z.string().optional(), tokens: z.number().optional() }),
  execute: async ({ input: { text = "echo", tokens = 0 } }) => ({
    content: [{ type: "text", text: `${text} ${filler(tokens)}` }],
  }),
});

/** Has every section that any kind of summary is asked for. */
export const summary: ScenarioAnswer = {
  text: [...new Set(Object.values(summarySections).flat())]
    .map((heading) => `## ${heading}\n${heading} as it stands.`)
    .join("\n\n"),
};

/** The answer that ends a run. */
export const done: ScenarioAnswer = { text: "done" };

/** The refusal of a request that is too long. */
export const overflow = {
  error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" },
} satisfies ScenarioAnswer;

/** The answers of the model, by purpose and in order; a function gets the request. */
export type Play = (call: ProviderCall, count: number) => ScenarioAnswer;

export interface ScriptedAgentOptions extends Partial<Omit<AgentOptions, "settings" | "lifecycle">> {
  turn: Play | readonly ScenarioAnswer[];
  summary?: Play | readonly ScenarioAnswer[];
  settings?: Record<string, unknown>;
  /** Answers to other requests. Default: none are expected. */
  extension?: Play;
  /** Overrides the compaction preset's policy. */
  policy?: Partial<CompactionPolicy>;
  /** The timer for slow handlers. */
  setTimer?: SetTimer;
}

export interface ScriptedAgent {
  agent: Agent;
  session: Session;
  lifecycle: Lifecycle<LifecycleEvents>;
  notices: AgentNotice[];
  /** The notices of the lifecycle about handlers. */
  handlerNotices: LifecycleNotice[];
  /** Requests as they went out, by purpose. */
  turns: ProviderCall[];
  summaries: ProviderCall[];
  others: ProviderCall[];
}

/** An agent whose model's words are written down beforehand, and all that it was asked. */
export function scriptedAgent({
  turn,
  summary: summaries,
  extension = () => {
    throw new Error("An unexpected request.");
  },
  policy,
  setTimer,
  ...options
}: ScriptedAgentOptions): ScriptedAgent {
  const session = options.session ?? createSession({ cwd: "/project" });
  const notices: AgentNotice[] = [];
  const handlerNotices: LifecycleNotice[] = [];
  const asked: Record<string, ProviderCall[]> = { turn: [], summary: [], title: [], extension: [] };
  const plays = { turn: playOf(turn), summary: playOf(summaries ?? (() => summary)), extension };
  const provider = scriptedProvider((call) => {
    const { purpose } = call;
    asked[purpose]!.push(call);
    return plays[purpose as keyof typeof plays](call, asked[purpose]!.length);
  });
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    ...(setTimer === undefined ? {} : { setTimer }),
    onNotice: (notice) => {
      handlerNotices.push(notice);
      notices.push({ level: "warning", code: notice.type, message: notice.type });
    },
  });
  const agent = new Agent({
    models: new ModelClient({ providers: { scripted: async () => provider }, retry: { maxRetries: 0 } }),
    model: actor,
    systemPrompt: "You are a test.",
    tools: [echo],
    onNotice: (notice) => notices.push(notice),
    ...options,
    session,
    lifecycle,
    settings: agentSettings(
      {
        titles: false,
        ...options.settings,
        // The lines would be in almost every test.
        compaction: { showBudget: false, ...(options.settings?.compaction as object) },
      },
      { estimator: "chars4", ...policy },
    ),
  });
  return {
    agent,
    session,
    lifecycle,
    notices,
    handlerNotices,
    turns: asked.turn!,
    summaries: asked.summary!,
    others: asked.extension!,
  };
}

/**
 * An agent after prompts of these sizes in tokens, which can be compacted at a window of 20,000. `turn` plays the requests
 * after them; a list that has ended goes on with `done`.
 */
export async function filledAgent(
  { turn = [], ...options }: Partial<ScriptedAgentOptions> = {},
  sizes: readonly number[] = [4_000, 8_000],
): Promise<ScriptedAgent> {
  const play =
    typeof turn === "function" ? turn : (_call: ProviderCall, count: number) => turn[count - 1] ?? done;
  const run = scriptedAgent({
    ...options,
    turn: (call, count) => (count <= sizes.length ? done : play(call, count - sizes.length)),
  });
  for (const size of sizes) await run.agent.prompt(filler(size));
  return run;
}

function playOf(play: Play | readonly ScenarioAnswer[]): Play {
  if (typeof play === "function") return play;
  return (call, count) => {
    const answer = play[count - 1];
    if (answer === undefined) throw new Error(`No answer ${count} for a ${call.purpose} is written down.`);
    return answer;
  };
}

/** An answer with one call of `echo`. */
export function calls(
  args: Record<string, unknown> = {},
  more: Partial<ScenarioAnswer> = {},
): ScenarioAnswer {
  return { calls: [{ name: "echo", arguments: args }], ...more };
}

/** A usage of so many tokens in all. */
export function tokens(count: number): Pick<ScenarioAnswer, "usage"> {
  return { usage: { input: count - 10, output: 10, cacheRead: 0, cacheWrite: 0 } };
}

/** Roles of what the model was sent. */
export function roles(messages: readonly Message[]): string[] {
  return messages.map(({ role }) => role);
}

/** All text that the model was sent. */
export function sentText({ messages }: ProviderCall): string {
  return messages
    .map((message) =>
      message.role === "compactionSummary" || message.role === "branchSummary"
        ? message.summary
        : "content" in message
          ? contentText(message.content as never)
          : "",
    )
    .join("\n");
}

/** Names of the events in the order in which they were fired. */
export function recordEvents(lifecycle: Lifecycle<LifecycleEvents>): string[] {
  const names: string[] = [];
  for (const name of Object.keys(lifecycleEventRules) as (keyof LifecycleEvents)[])
    lifecycle.on(name, (event: { type: string; message?: { role: string } }) => {
      names.push(
        event.message === undefined || name.startsWith("turn") ? name : `${name} ${event.message.role}`,
      );
    });
  return names;
}
