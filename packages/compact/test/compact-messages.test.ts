import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { createSession } from "@bonsai-agent/session";
import type { ModelMessage } from "ai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { type CompactState, compactMessages, type MessageFormat } from "../src/index.ts";

const settings = { window: 8_000 };

/** Fifteen turns of 600 tokens each. */
function chat(): Array<{ role: "user" | "assistant"; content: string }> {
  return Array.from({ length: 15 }, (_, turn) => [
    { role: "user" as const, content: `Mend test ${turn}.` },
    { role: "assistant" as const, content: `Test ${turn} passes. ${"The log says ok. ".repeat(150)}` },
  ]).flat();
}

function textOf(message: unknown): string {
  return JSON.stringify(message);
}

test("a list below its threshold stays the same array", async () => {
  const messages = chat().slice(0, 4);
  const {
    messages: after,
    state,
    report,
  } = await compactMessages({ messages, format: "openai-chat", settings });
  expect(after).toBe(messages);
  expect(state).toBeNull();
  expect(report.status).toBe("unchanged");
});

test("equal lists give equal summaries and states", async () => {
  const options = { messages: chat(), format: "openai-chat", settings } as const;
  const [one, other] = [await compactMessages(options), await compactMessages(options)];
  expect(one.messages).toEqual(other.messages);
  expect(one.report).toMatchObject({ status: "compacted", summarisedBy: "digest", requests: 0 });
});

test("an unknown format, a missing window and a wrong setting have their own errors", async () => {
  const options = { messages: chat(), format: "openai-chat" as MessageFormat };
  const codeOf = (changes: object) => compactMessages({ ...options, ...changes }).catch(({ code }) => code);
  expect(await codeOf({ format: "cohere", settings })).toBe("compact_format_unknown");
  expect(await codeOf({})).toBe("compact_window_unknown");
  expect(await codeOf({ settings: { window: 1e5, keepRecentTokens: -1 } })).toBe(
    "compaction_setting_invalid",
  );
});

test("a changed, cut off or foreign state is refused", async () => {
  const options = { messages: chat(), format: "openai-chat" as const, settings };
  const { messages, state } = await compactMessages(options);
  const codeWith = (other: unknown, changes = {}) =>
    compactMessages({ ...options, ...changes, state: other as typeof state }).then(
      () => "none",
      ({ code }) => code,
    );
  expect(await codeWith(state)).toBe("none");
  expect(await codeWith({ ...state, keptMessages: 1 })).toBe("compact_state_damaged");
  expect(await codeWith({ ...state, version: 2 })).toBe("compact_state_damaged");
  expect(await codeWith("{")).toBe("compact_state_damaged");
  expect(await codeWith(state, { format: "anthropic" })).toBe("compact_state_foreign");
  expect(await codeWith(state, { messages: chat().slice(3) })).toBe("compact_state_foreign");
  const sorted = Object.fromEntries(Object.entries(state!).toSorted());
  expect(await codeWith(sorted, { messages })).toBe("none");
});

test("an abort rejects with the signal's reason", async () => {
  const options = { messages: chat(), format: "openai-chat", settings } as const;
  await expect(compactMessages({ ...options, signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow(
    "stop",
  );
  const controller = new AbortController();
  const model = async () => {
    controller.abort(new Error("later"));
    return "";
  };
  await expect(compactMessages({ ...options, model, signal: controller.signal })).rejects.toThrow("later");
});

test("the record names files, and the reason of a denied call is in the user's words", async () => {
  const messages: ModelMessage[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "Read this." },
        {
          type: "file",
          data: { type: "data", data: "AAAA" },
          mediaType: "application/pdf",
          filename: "plan.pdf",
        },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "c1", toolName: "deploy", input: { to: "prod" } },
        { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-approval-response",
          approvalId: "a1",
          approved: false,
          reason: "Use the staging server.",
        },
        { type: "tool-result", toolCallId: "c1", toolName: "deploy", output: { type: "execution-denied" } },
      ],
    },
    ...chat(),
  ];
  const { messages: after } = await compactMessages({ messages, format: "ai-sdk", settings });
  expect(textOf(after[0])).toContain("[file: plan.pdf, application/pdf]");
  expect(textOf(after[0])).toContain("Denied the call of deploy: Use the staging server.");
});

test("system messages and unknown items stay before the summary", async () => {
  const fixed: ResponseInputItem[] = [
    { role: "developer", content: "Be brief." },
    { type: "compaction", id: "cmp_1", encrypted_content: "x" },
  ];
  const items: ResponseInputItem[] = [fixed[0]!, ...chat().slice(0, 4), fixed[1]!, ...chat()];
  const { messages } = await compactMessages({ messages: items, format: "openai-responses", settings });
  expect(messages[0]).toBe(fixed[0]);
  expect(messages[1]).toBe(fixed[1]);
  expect(textOf(messages[2])).toContain("Record of the earlier conversation");
});

test("a call that waits for its approval is kept", async () => {
  const waiting: ModelMessage = {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "c1", toolName: "deploy", input: {} },
      { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
    ],
  };
  const approved: ModelMessage = {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }],
  };
  const messages = [...chat(), waiting, approved];
  const policy = { window: 8_000, keepRecentTokens: 0 };
  const { messages: after } = await compactMessages({
    ...{ messages, format: "ai-sdk", settings: policy, reason: "manual" },
  });
  expect(after.slice(-2)).toEqual([waiting, approved]);
  expect(after.length).toBeLessThan(messages.length);
});

test("a user message with results and text is kept or summarised as a whole", async () => {
  const messages: MessageParam[] = [...chat()];
  for (let step = 0; step < 12; step++)
    messages.push(
      { role: "user", content: [{ type: "text", text: `Step ${step}` }] },
      { role: "assistant", content: [{ type: "tool_use", id: `t${step}`, name: "read", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: `t${step}`, content: "ok" },
          { type: "text", text: "Here is more. ".repeat(60) },
        ],
      },
      { role: "assistant", content: "Good." },
    );
  const { messages: after } = await compactMessages({ messages, format: "anthropic", settings });
  const kept = after.filter((message) => messages.includes(message));
  expect(kept).toEqual(messages.slice(-kept.length));
  expect(textOf(kept[0])).not.toContain("tool_result");
});

test("masked results return in full to the summary of a later compaction", async () => {
  const result = (turn: number) =>
    `FAIL src/test${turn}.ts: expected ${turn} to be 0\n${"line of the log\n".repeat(80)}`;
  const messages: ModelMessage[] = Array.from({ length: 20 }, (_, turn): ModelMessage[] => [
    { role: "user", content: `Run test ${turn}.` },
    {
      role: "assistant",
      content: [
        {
          type: "tool-call",
          toolCallId: `c${turn}`,
          toolName: "bash",
          input: { command: `npm test ${turn}` },
        },
      ],
    },
    {
      role: "tool",
      content: [
        {
          ...{ type: "tool-result", toolCallId: `c${turn}`, toolName: "bash" },
          output: { type: "error-text", value: result(turn) },
        },
      ],
    },
    { role: "assistant", content: "It fails." },
  ]).flat();
  const masking = { window: 9_000, mask: { protectTokens: 1_500, minimumTokens: 500 } };
  const masked = await compactMessages({ messages, format: "ai-sdk", settings: masking });
  expect(masked.report.status).toBe("masked");
  expect(textOf(masked.messages[2])).toContain("[Old tool result content cleared]");
  expect(textOf(masked.messages[2])).toContain('"error-text"');
  const { messages: list, state } = masked;
  const full = await compactMessages({ messages, format: "ai-sdk", settings: masking, state });
  expect(full.messages).toEqual(list);
  const prompts: string[] = [];
  const summarise = async (prompt: string) => {
    prompts.push(prompt);
    return prompt;
  };
  await compactMessages({
    messages: list,
    format: "ai-sdk",
    settings: { window: 8_000, keepRecentTokens: 300 },
    state,
    reason: "manual",
    model: summarise,
  });
  expect(prompts.join()).toContain("FAIL src/test0.ts: expected 0 to be 0");
});

test("a session receives all messages, and after an undo the full list continues", async () => {
  const session = createSession({ cwd: "/project" });
  const options = { format: "ai-sdk" as const, settings, session };
  const bytes = new Uint8Array([1, 2, 3]);
  const file = { type: "file", data: { type: "data", data: bytes }, mediaType: "application/pdf" } as const;
  const messages: ModelMessage[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Read this." }, file] },
    ...chat(),
  ];
  const first = await compactMessages({ ...options, messages });
  expect(first.report.status).toBe("compacted");
  const question: ModelMessage = { role: "user", content: "Go on." };
  const more = [...first.messages, question];
  const second = await compactMessages({ ...options, messages: more, state: first.state });
  expect(second.messages).toBe(more);
  expect(session.path().filter(({ type }) => type === "message")).toHaveLength(messages.length);
  session.undoCompaction(session.projection().compaction!.id);
  const stale = compactMessages({ ...options, messages: more, state: first.state });
  await expect(stale).rejects.toMatchObject({ code: "compact_session_foreign" });
  const full = [...messages, question];
  const undone = await compactMessages({ ...options, messages: full, settings: { window: 1e6 } });
  expect(undone.messages).toBe(full);
  expect(undone.state).toBeNull();
});

test("a system message of the Anthropic format follows the summary, because it cannot be the first", async () => {
  const rule: MessageParam = { role: "system", content: "Never open valve 7." };
  const list = chat() as MessageParam[];
  const messages = [...list.slice(0, 3), rule, ...list.slice(3)];
  const options = { format: "anthropic" as const, settings };
  const first = await compactMessages({ ...options, messages });
  const [summary, system, ...others] = first.messages;
  expect(textOf(summary)).toContain("Record of the earlier conversation");
  expect(system).toBe(rule);
  expect(others.map(({ role }) => role).join(" ")).toMatch(/^(assistant user ?)*(assistant)?$/);
  const more: MessageParam[] = [...first.messages, { role: "user", content: "Go on." }];
  const again = await compactMessages({ ...options, messages: more, state: first.state });
  expect(again.messages).toBe(more);
  const next = await compactMessages({ ...options, messages: more, state: first.state, reason: "manual" });
  expect(next.messages.filter((message) => message === rule)).toHaveLength(1);
  expect(next.messages[1]).toBe(rule);
});

test("a file counts as an image until the provider reports usage", async () => {
  const document = (data: string): MessageParam => ({
    role: "user",
    content: [{ type: "document", source: { type: "base64", media_type: "application/pdf", data } }],
  });
  const { report } = await compactMessages({
    messages: [document("JVBERi0=")],
    format: "anthropic",
    settings,
  });
  expect(report.tokensBefore).toBeGreaterThan(1_000);
});

test("a deferred result of the provider's tool stays with its call", async () => {
  const call = (id: string, providerExecuted: boolean) =>
    ({ type: "tool-call", toolCallId: id, toolName: "search", input: {}, providerExecuted }) as const;
  const result = (id: string) =>
    ({
      type: "tool-result",
      toolCallId: id,
      toolName: "search",
      output: { type: "text", value: "found" },
    }) as const;
  const deferred: ModelMessage[] = [
    { role: "assistant", content: [call("server", true), call("own", false)] },
    { role: "tool", content: [result("own")] },
    {
      role: "assistant",
      content: [result("server"), { type: "text", text: "The log says ok. ".repeat(150) }],
    },
  ];
  for (const keepRecentTokens of [500, 800, 1_500, 2_500]) {
    const list = chat();
    const messages: ModelMessage[] = [...list.slice(0, -2), ...deferred, ...list.slice(-2)];
    const policy = { window: 8_000, keepRecentTokens };
    const { messages: after } = await compactMessages({
      ...{ messages, format: "ai-sdk", settings: policy, reason: "manual" },
    });
    const kept = deferred.filter((message) => after.includes(message));
    expect([0, deferred.length]).toContain(kept.length);
  }
});

test("after compactions that keep nothing, the full list shows each later answer", async () => {
  const items: ResponseInputItem[] = [{ role: "user", content: "Mend the parser." }];
  const keepNothing = { window: 1e6, keepRecentTokens: 0 };
  let state = null as CompactState | null;
  for (const name of ["first", "second", "third"]) {
    const content = `${"The parser reads each line twice. ".repeat(400)}${name}`;
    const answer: ResponseInputItem = { role: "assistant", content };
    items.push(answer);
    const options = { messages: items, format: "openai-responses", settings: keepNothing } as const;
    const shown = await compactMessages({ ...options, state });
    expect(shown.messages.length).toBe(2);
    expect(shown.messages[1] === answer).toBe(true);
    const { messages, report, ...next } = await compactMessages({ ...options, state, reason: "manual" });
    expect(report.status).toBe("compacted");
    expect(messages.includes(answer)).toBe(false);
    state = next.state;
  }
});
