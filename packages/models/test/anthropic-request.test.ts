import { type AssistantContent, emptyUsage, type Message } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic/anthropic.ts";
import { anthropicThinking } from "../src/anthropic/anthropic-thinking.ts";
import { type ToolDeclaration, thinkingLevels } from "../src/index.ts";
import { callOf, claude } from "./anthropic-exchange.ts";

const tools: ToolDeclaration[] = ["read", "write"].map((name) => ({
  name,
  description: `To ${name}`,
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}));

function user(content: string): Message {
  return { role: "user", content, timestamp: 0 };
}

function assistant(...content: AssistantContent[]): Message {
  const { api, provider, id: model } = claude;
  return {
    role: "assistant",
    content,
    api,
    provider,
    model,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
}

function results(ids: readonly string[]): Message[] {
  return ids.map((toolCallId) => ({
    role: "toolResult",
    toolCallId,
    toolName: "read",
    content: [{ type: "text", text: `result of ${toolCallId}` }],
    isError: false,
    timestamp: 0,
  }));
}

function calls(ids: readonly string[]): AssistantContent[] {
  return ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: { path: id } }));
}

interface Block {
  json: string;
  isBreakpoint: boolean;
}

/** A request in the order in which the cache reads it, one entry for each block. */
function blocksOf(messages: readonly Message[]): Block[] {
  const request = anthropicRequest(callOf({ messages, tools }));
  const system = request.system as object[];
  const parts = [
    ...(request.tools ?? []),
    ...system,
    ...request.messages.flatMap(({ role, content }) =>
      (content as object[]).map((block, index) => ({ ...(index === 0 && { role }), ...block })),
    ),
  ];
  return parts.map((part) => {
    const { cache_control, ...rest } = part as { cache_control?: unknown };
    return { json: JSON.stringify(rest), isBreakpoint: cache_control !== undefined };
  });
}

function cachedPrefix(blocks: readonly Block[]): string[] {
  return blocks.slice(0, blocks.findLastIndex((block) => block.isBreakpoint) + 1).map((block) => block.json);
}

describe("cache breakpoints", () => {
  test("stand on the last tool, the system prompt and the last two user-role messages", () => {
    const messages = [
      user("one"),
      assistant(...calls(["a"])),
      ...results(["a"]),
      assistant(...calls(["b", "c"])),
      ...results(["b", "c"]),
    ];
    const request = anthropicRequest(callOf({ messages, tools }));
    const breakpoint = { type: "ephemeral" };
    expect(request.tools?.map((tool) => tool.cache_control)).toEqual([undefined, breakpoint]);
    expect(request.system).toEqual([{ type: "text", text: "Be brief.", cache_control: breakpoint }]);
    expect(
      request.messages.map(({ content }) =>
        (content as { cache_control?: unknown }[]).map((b) => b.cache_control),
      ),
    ).toEqual([[undefined], [undefined], [breakpoint], [undefined, undefined], [undefined, breakpoint]]);
  });

  test("after a compaction, one is on the summary and none on the tools", () => {
    const summary: Message = { role: "compactionSummary", summary: "Done.", tokensBefore: 1, timestamp: 1 };
    const messages = [
      summary,
      user("one"),
      ...["a", "b"].flatMap((id) => [assistant(...calls([id])), ...results([id])]),
    ];
    const request = anthropicRequest(callOf({ messages, tools }));
    const marks = (blocks: readonly object[] = []) => blocks.map((block) => "cache_control" in block);
    expect(marks(request.tools)).toEqual([false, false]);
    expect(marks(request.system as object[])).toEqual([true]);
    expect(request.messages.map(({ content }) => marks(content))).toEqual([
      [true, false],
      [false],
      [true],
      [false],
      [true],
    ]);
  });

  test("Invariant: the cached prefix of a request begins with that of the one before, at a breakpoint", () => {
    const turn = fc.oneof(
      fc.record({ kind: fc.constant("user" as const), count: fc.constant(0) }),
      fc.record({ kind: fc.constant("calls" as const), count: fc.integer({ min: 1, max: 30 }) }),
    );
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 12 }), (turns) => {
        const messages: Message[] = [
          { role: "compactionSummary", summary: "Done.", tokensBefore: 1, timestamp: 1 },
          user("begin"),
        ];
        let before = blocksOf(messages);
        turns.forEach(({ kind, count }, at) => {
          const ids = Array.from({ length: count }, (_, index) => `call-${at}-${index}`);
          if (kind === "user")
            messages.push(assistant({ type: "text", text: `said ${at}` }), user(`asked ${at}`));
          else messages.push(assistant(...calls(ids)), ...results(ids));
          const now = blocksOf(messages);
          const shared = cachedPrefix(before);
          expect(cachedPrefix(now).slice(0, shared.length)).toEqual(shared);
          // However many blocks came since, one breakpoint stands exactly where the last one stood.
          expect(now[shared.length - 1]?.isBreakpoint).toBe(true);
          expect(now.filter((block) => block.isBreakpoint).length).toBeLessThanOrEqual(4);
          before = now;
        });
      }),
    );
  });

  test("a question asked once writes nothing to the cache", () => {
    const once = anthropicRequest(callOf({ purpose: "summary", tools }));
    expect(JSON.stringify(once)).not.toContain("cache_control");
    const messages = [user("one"), assistant({ type: "text", text: "x" }), user("Summarise")];
    const prefix = anthropicRequest(callOf({ purpose: "summary", tools, messages }));
    expect(JSON.stringify(prefix).match(/cache_control/g)).toHaveLength(4);
  });

  test("arguments stream eagerly where the server is known to allow it", () => {
    const own = { ...claude, baseUrl: "https://api.anthropic.com" };
    const eager = anthropicRequest(callOf({ tools, model: own })).tools;
    expect(eager).toMatchObject([{ eager_input_streaming: true }, { eager_input_streaming: true }]);
    expect(JSON.stringify(anthropicRequest(callOf({ tools })).tools)).not.toContain("eager");
  });

  test("nothing that is absent is sent", () => {
    const request = anthropicRequest(callOf({ systemPrompt: " ", model: { ...claude, reasoning: false } }));
    expect(Object.keys(request).sort()).toEqual(["max_tokens", "messages", "model", "stream"]);
  });
});

describe("how much to think", () => {
  const adaptive = { type: "adaptive", display: "summarized" };

  /** Efforts or budgets for off, minimal, low, medium, high, xhigh; an object is sent as `thinking`. */
  test.each([
    ["claude-opus-4-5-20251101", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["claude-sonnet-4-5", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["claude-haiku-4-5-20251001", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["claude-3-7-sonnet-20250219", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["claude-sonnet-4-20250514", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["glm-5", [null, 1_024, 4_096, 10_240, 20_480, 24_000]],
    ["claude-opus-4-6", [null, "low", "low", "medium", "high", "high"]],
    ["us.anthropic.claude-sonnet-4-6-v1:0", [null, "low", "low", "medium", "high", "high"]],
    ["claude-opus-4-7", [null, "low", "low", "medium", "high", "xhigh"]],
    ["claude-opus-4-8", [null, "low", "low", "medium", "high", "xhigh"]],
    ["claude-opus-5", [{ type: "disabled" }, "low", "low", "medium", "high", "xhigh"]],
    ["claude-sonnet-5", [{ type: "disabled" }, "low", "low", "medium", "high", "xhigh"]],
    ["claude-haiku-5-5", [{ type: "disabled" }, "low", "low", "medium", "high", "xhigh"]],
    ["claude-sonnet-5-5", [{ type: "between_tools" }, "low", "low", "medium", "high", "xhigh"]],
    ["claude-opus-5-5", ["low", "low", "low", "medium", "high", "xhigh"]],
    ["claude-fable-5", ["low", "low", "low", "medium", "high", "xhigh"]],
    ["claude-fable-5-2", ["low", "low", "low", "medium", "high", "xhigh"]],
    ["claude-sonnet-6", ["low", "low", "low", "medium", "high", "xhigh"]],
  ])("%s", (id, expected) => {
    const told = thinkingLevels.map((level) =>
      anthropicThinking({
        model: { ...claude, id },
        level,
        maxOutputTokens: 64_000,
        isTurnWithoutThinking: false,
      }),
    );
    expect(told).toEqual(
      expected.map((value) => {
        if (value === null) return {};
        if (typeof value === "number") return { thinking: { type: "enabled", budget_tokens: value } };
        return typeof value === "string"
          ? { thinking: adaptive, output_config: { effort: value } }
          : { thinking: value };
      }),
    );
  });

  test("Invariant: a budget is legal, and leaves a part of the output for the answer", () => {
    const model = { ...claude, id: "claude-haiku-4-5" };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64_000 }),
        fc.constantFrom(...thinkingLevels),
        (maxOutputTokens, level) => {
          const { thinking } = anthropicThinking({
            model,
            level,
            maxOutputTokens,
            isTurnWithoutThinking: false,
          });
          if (thinking?.type !== "enabled") return;
          expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
          expect(thinking.budget_tokens).toBeLessThanOrEqual(maxOutputTokens * 0.75);
        },
      ),
    );
    expect(
      anthropicThinking({ model, level: "high", maxOutputTokens: 8_000, isTurnWithoutThinking: false }),
    ).toEqual({ thinking: { type: "enabled", budget_tokens: 6_000 } });
    expect(
      anthropicThinking({ model, level: "high", maxOutputTokens: 1_200, isTurnWithoutThinking: false }),
    ).toEqual({});
  });

  describe("with a budget, in the middle of a turn", () => {
    const model = { ...claude, id: "claude-haiku-4-5" };
    const signed: AssistantContent = { type: "thinking", thinking: "Hm", thinkingSignature: "sig" };
    const own = (message: Message): Message => ({ ...message, model: model.id }) as Message;
    const budget = { type: "enabled", budget_tokens: 6_000 };

    test.each([
      ["a user's message", [user("one")], budget],
      [
        "a turn that began with thinking, whatever followed",
        [
          user("one"),
          own(assistant(signed, ...calls(["a"]))),
          ...results(["a"]),
          own(assistant(...calls(["b"]))),
          ...results(["b"]),
        ],
        budget,
      ],
      [
        "a turn that began without",
        [user("one"), own(assistant(...calls(["a"]))), ...results(["a"])],
        undefined,
      ],
      [
        "a new turn after one without",
        [
          user("one"),
          own(assistant(...calls(["a"]))),
          ...results(["a"]),
          own(assistant(signed)),
          user("two"),
        ],
        budget,
      ],
    ])("%s", (_name, messages, thinking) => {
      const request = anthropicRequest(callOf({ model, messages, thinking: "high" }));
      expect(request.thinking).toEqual(thinking);
    });

    test("a model without budgets decides for itself", () => {
      const messages = [user("one"), assistant(...calls(["a"])), ...results(["a"])];
      const request = anthropicRequest(callOf({ messages, thinking: "high" }));
      expect(request.thinking).toEqual({ type: "adaptive", display: "summarized" });
    });
  });

  test("a model that cannot think is asked nothing", () => {
    const model = { ...claude, reasoning: false };
    expect(
      anthropicThinking({ model, level: "high", maxOutputTokens: 64_000, isTurnWithoutThinking: false }),
    ).toEqual({});
  });
});
