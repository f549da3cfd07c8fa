import { undoLatestCompaction } from "@bonsai-agent/compaction";
import { expect } from "vitest";
import type { lifecycleEventRules } from "../src/lifecycle.ts";
import type { Stage } from "./extension-stage.ts";
import { sentText } from "./scripted-agent.ts";

export type EventName = keyof typeof lifecycleEventRules;

interface EventCase {
  /** Makes the event happen, as the first of its kind. */
  act: (run: Stage) => Promise<unknown>;
  /** The other fields of the event. */
  payload: (run: Stage) => object;
  /** The event right before it; absent where it is the first. */
  behind?: string;
  /** Its place among the events of the run depends on the speed of the summariser. */
  isConcurrent?: boolean;
  /** For a decide event: the result of a handler, and its effect. */
  answer?: (run: Stage) => object;
  holds?: (run: Stage, acted: unknown) => void;
  /** The session before; default two turns. */
  sizes?: number[];
}

const prompt = (run: Stage) => run.agent.prompt("go", { source: "rpc" });
const compact = (run: Stage) => run.agent.compact();
const goBack = (run: Stage) => run.agent.navigate(run.ids()[1]!, { summarise: true });
const command = (run: Stage) => run.agent.runUserCommand("ls").catch((error: unknown) => error);
const lastSaid = (run: Stage) => run.session.projection().items.at(-1)!.message;
const anyResult = { content: [{ type: "text", text: "hi " }] };
const call = { toolCallId: expect.any(String), toolName: "echo" };
/** Front ends fire it, through the same lifecycle; here it is the rule that is held. */
const byFrontEnd = (name: "session_before_switch" | "session_before_fork", payload: object): EventCase => ({
  act: (run) => run.lifecycle.decide(name, { type: name, ...payload } as never),
  payload: () => payload,
  answer: () => ({ cancel: true }),
  holds: (_run, acted) => expect(acted).toMatchObject({ result: { cancel: true } }),
});

/** Every event: none can be missing. */
export const eventCases: Record<EventName, EventCase> = {
  session_start: { act: (run) => run.agent.start("resume"), payload: () => ({ reason: "resume" }) },
  session_shutdown: { act: (run) => run.agent.close("new"), payload: () => ({ reason: "new" }) },
  session_info_changed: {
    sizes: [],
    act: async (run) => {
      await run.agent.prompt("Sort the imports");
      await run.agent.close();
    },
    payload: () => ({ name: "Sort the imports" }),
    behind: "agent_end",
  },
  resources_discover: {
    act: (run) =>
      run.lifecycle.decide("resources_discover", {
        type: "resources_discover",
        cwd: "/project",
        reason: "startup",
      }),
    payload: () => ({ cwd: "/project", reason: "startup" }),
    answer: () => ({ promptPaths: ["/more"] }),
    holds: (_run, acted) => expect(acted).toMatchObject({ result: { promptPaths: ["/more"] } }),
  },
  session_before_switch: byFrontEnd("session_before_switch", { reason: "new" }),
  session_before_fork: byFrontEnd("session_before_fork", { entryId: "a", position: "at" }),
  background_compaction: {
    sizes: [7_000, 6_000],
    act: prompt,
    payload: () => ({ state: "ready", detail: "" }),
    isConcurrent: true,
  },
  auto_compaction_start: { act: compact, payload: () => ({ reason: "manual" }) },
  auto_compaction_end: {
    act: compact,
    payload: () => ({ reason: "manual", outcome: { status: "compacted" }, aborted: false, willRetry: false }),
    behind: "session_compact",
  },
  session_before_mask: {
    sizes: [7_000],
    act: prompt,
    payload: (run) => ({ reason: "threshold", results: [{ entryId: run.ids()[4] }, {}] }),
    behind: "auto_compaction_start",
    answer: (run) => ({ keep: [run.ids()[4]!] }),
    holds: (run) =>
      expect(run.session.entries().filter(({ type }) => type === "context_edit")).toHaveLength(1),
  },
  session_mask: {
    sizes: [7_000],
    act: prompt,
    payload: () => ({ reason: "threshold", entries: [{ type: "context_edit" }, { type: "context_edit" }] }),
    behind: "session_before_mask",
  },
  session_before_compact: {
    act: compact,
    payload: () => ({ reason: "manual", willRetry: false, preparation: { isSplitTurn: false } }),
    behind: "auto_compaction_start",
    answer: () => ({ cancel: true, reason: "not now" }),
    holds: (_run, acted) => expect(acted).toMatchObject({ status: "cancelled" }),
  },
  session_compact: {
    act: compact,
    payload: (run) => ({ compactionEntry: { id: run.ids()[0] }, fromExtension: false, reason: "manual" }),
    behind: "session_before_compact",
  },
  session_compact_failed: {
    act: (run) => {
      run.lifecycle.on("session_before_compact", () => run.agent.cancelCompaction());
      return run.agent.compact();
    },
    payload: () => ({ reason: "manual", aborted: true, willRetry: false, fromExtension: false }),
    behind: "session_before_compact",
  },
  session_compact_undo: {
    act: async ({ agent, session, lifecycle }) => {
      await agent.compact();
      await undoLatestCompaction({ session, lifecycle, contextSize: () => agent.state.context });
    },
    payload: ({ session }) => ({
      entry: { id: session.leafId },
      compactionEntry: { type: "compaction" },
      isUndone: true,
    }),
    behind: "auto_compaction_end",
  },
  session_before_tree: {
    act: goBack,
    payload: (run) => ({ preparation: { targetId: run.ids()[1], userWantsSummary: true } }),
    answer: () => ({ cancel: true }),
    holds: (_run, acted) => expect(acted).toMatchObject({ status: "cancelled" }),
  },
  session_tree: {
    act: goBack,
    payload: (run) => ({ newLeafId: run.session.leafId, fromExtension: false }),
    behind: "session_before_tree",
  },
  input: {
    act: prompt,
    payload: () => ({ text: "go", source: "rpc" }),
    answer: () => ({ action: "transform", text: "GO" }),
    holds: (run) => expect(sentText(run.turns.at(-1)!)).toContain("GO"),
  },
  before_agent_start: {
    act: prompt,
    payload: () => ({ prompt: "go", systemPrompt: "You are a test." }),
    behind: "input",
    answer: () => ({ systemPrompt: "You are brief." }),
    holds: (run) => expect(run.turns.at(-1)).toMatchObject({ systemPrompt: "You are brief." }),
  },
  agent_start: { act: prompt, payload: () => ({}), behind: "before_agent_start" },
  agent_end: {
    act: prompt,
    payload: () => ({ result: { status: "done" }, messages: [{ role: "user" }, {}, {}, {}] }),
    behind: "turn_end",
  },
  turn_start: {
    act: prompt,
    payload: () => ({ turnIndex: 0, timestamp: expect.any(Number) }),
    behind: "agent_start",
  },
  turn_end: {
    act: prompt,
    payload: (run) => ({
      turnIndex: 0,
      message: { role: "assistant" },
      toolResults: [{ toolName: "echo" }],
      messageEntryId: run.ids()[5],
      toolResultEntryIds: [run.ids()[6]],
    }),
    behind: "message_stored toolResult",
  },
  message_start: {
    act: prompt,
    payload: () => ({ message: { role: "user", content: "go" } }),
    behind: "turn_start",
  },
  message_update: {
    act: prompt,
    payload: () => ({ message: { role: "assistant" }, assistantMessageEvent: { type: expect.any(String) } }),
    behind: "after_provider_response",
  },
  message_end: {
    act: prompt,
    payload: () => ({ message: { role: "user", content: "go" } }),
    behind: "message_start user",
    answer: () => ({ message: { role: "user", content: "GO", timestamp: 0 } }),
    holds: (run) => expect(sentText(run.turns.at(-1)!)).toContain("GO"),
  },
  message_stored: {
    act: prompt,
    payload: (run) => ({ message: { role: "user", content: "go" }, entryId: run.ids()[4] }),
    behind: "message_end user",
  },
  context: {
    act: prompt,
    payload: () => ({ messages: [{}, {}, {}, {}, { content: "go" }] }),
    behind: "message_stored user",
    answer: () => ({ messages: [{ role: "user", content: "else", timestamp: 0 }] }),
    holds: (run) => expect(run.turns[2]!.messages).toMatchObject([{ content: "else" }]),
  },
  before_provider_request: {
    act: async (run) => {
      const payloads: unknown[] = [];
      // A late reader sees all earlier requests.
      run.lifecycle.on("before_provider_request", ({ payload }) => void payloads.push(payload), {
        source: "last",
      });
      await prompt(run);
      return payloads;
    },
    payload: () => ({ payload: expect.any(Object) }),
    behind: "message_start assistant",
    answer: () => ({ changed: true }),
    holds: (_run, payloads) => expect((payloads as unknown[])[0]).toEqual({ changed: true }),
  },
  after_provider_response: {
    act: prompt,
    payload: () => ({ status: expect.any(Number), headers: expect.any(Object) }),
    behind: "before_provider_request",
  },
  tool_call: {
    act: prompt,
    payload: () => ({ ...call, input: { text: "hi" } }),
    behind: "tool_execution_start",
    answer: () => ({ block: true, reason: "no" }),
    holds: (run) => expect(sentText(run.turns.at(-1)!)).toContain("Blocked: no"),
  },
  tool_result: {
    act: prompt,
    payload: () => ({ ...call, input: { text: "hi" }, ...anyResult, isError: false, details: undefined }),
    behind: "tool_execution_update",
    answer: () => ({ content: [{ type: "text", text: "changed" }] }),
    holds: (run) => expect(sentText(run.turns.at(-1)!)).toContain("changed"),
  },
  tool_execution_start: {
    act: prompt,
    payload: () => ({ ...call, args: { text: "hi" } }),
    behind: "message_stored assistant",
  },
  tool_execution_update: {
    act: prompt,
    payload: () => ({ ...call, args: { text: "hi" }, partialResult: { content: [] } }),
    behind: "tool_call",
  },
  tool_execution_end: {
    act: prompt,
    payload: () => ({ ...call, result: anyResult, isError: false }),
    behind: "tool_result",
  },
  user_bash: {
    act: command,
    payload: () => ({ command: "ls", excludeFromContext: false, cwd: "/project" }),
    answer: () => ({ result: { output: "remote", cancelled: false, truncated: false } }),
    holds: (run) => expect(lastSaid(run)).toMatchObject({ output: "remote" }),
  },
  model_select: {
    act: (run) => run.agent.setModel({ ...run.agent.model, id: "other" }),
    payload: () => ({ model: { id: "other" }, previousModel: { id: "actor" }, source: "set" }),
  },
  thinking_level_select: {
    act: (run) => run.agent.setThinking("high"),
    payload: () => ({ level: "high", previousLevel: "off" }),
  },
};
