import type { Message } from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProviderCall } from "../src/index.ts";
import { chatRequest } from "../src/openai/openai-chat.ts";
import { responsesRequest } from "../src/openai/openai-responses.ts";
import { openAiServer } from "../src/openai/openai-servers.ts";
import { wireCallId } from "../src/wire/fields.ts";
import {
  answerOf,
  at,
  callOf,
  callOfTool,
  local,
  readTool,
  resultOf,
  sent,
  user,
} from "./openai-exchange.ts";

const image = { type: "image" as const, data: "aGk=", mimeType: "image/png" };

const picture = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };

describe("messages", () => {
  test("messages of the user's side, in every role, become one message", () => {
    const messages: Message[] = [
      { role: "system", content: "not for the model" },
      { role: "compactionSummary", summary: "Before.", tokensBefore: 9, timestamp: 0 },
      { role: "branchSummary", summary: "Elsewhere.", fromId: "x", timestamp: 0 },
      {
        role: "bashExecution",
        command: "ls",
        output: "a.ts",
        cancelled: false,
        truncated: false,
        timestamp: 0,
      },
      {
        role: "bashExecution",
        command: "env",
        output: "K=1",
        cancelled: false,
        truncated: false,
        excludeFromContext: true,
        timestamp: 0,
      },
      { role: "custom", customType: "note", content: "A note.", display: true, timestamp: 0 },
      user("Hello"),
    ];
    expect(sent(messages)).toEqual([
      {
        role: "user",
        content: [
          framed(FRAMES.record, "Before."),
          framed(FRAMES.branchRecord, "Elsewhere."),
          "[The user ran a command:]\n\n$ ls\na.ts\n\n[End of the command's output.]",
          "[Message added by note:]\n\nA note.\n\n[End of the message added by note.]",
          "Hello",
        ].join("\n\n"),
      },
    ]);
  });

  test("images are data URLs", () => {
    const content = [{ type: "text" as const, text: "See:" }, image];
    expect(sent([{ role: "user", content, timestamp: 0 }])).toEqual([
      { role: "user", content: [{ type: "text", text: "See:" }, picture] },
    ]);
  });

  test("an answer with calls, and its results", () => {
    const answer = answerOf(local, [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "Reading." },
      callOfTool("a"),
      callOfTool("b", { arguments: { path: "b.ts" } }),
    ]);
    expect(
      sent([
        user("Go"),
        answer,
        resultOf("a"),
        resultOf("b", "(no output)"),
        answerOf(local, [callOfTool("c")]),
      ]),
    ).toEqual([
      { role: "user", content: "Go" },
      {
        role: "assistant",
        content: "Reading.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
          { id: "b", type: "function", function: { name: "read", arguments: '{"path":"b.ts"}' } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "contents" },
      { role: "tool", tool_call_id: "b", content: "(no output)" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } }],
      },
    ]);
  });

  test("images of results follow the last result of the batch, and what was said meanwhile follows them", () => {
    const pictured = (id: string): Message => ({
      ...(resultOf(id) as Message & { role: "toolResult" }),
      content: [image],
    });
    const answer = answerOf(local, [callOfTool("a"), callOfTool("b")]);
    expect(sent([user("Go"), answer, pictured("a"), user("Faster"), pictured("b")]).slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "(an image)" },
      { role: "tool", tool_call_id: "b", content: "(an image)" },
      {
        role: "user",
        content: [
          { type: "text", text: "The images of the tool results above:" },
          picture,
          picture,
          { type: "text", text: "[End of the images of tool results.]" },
          { type: "text", text: "Faster" },
        ],
      },
    ]);
  });

  test("an answer of nothing but thinking is left out", () => {
    const messages = [user("A"), answerOf(local, [{ type: "thinking", thinking: "hm" }]), user("B")];
    expect(sent(messages)).toEqual([{ role: "user", content: "A\n\nB" }]);
  });
});

test("a call's name goes out in the letters that the API allows", () =>
  everyRow([
    ["read", "read"],
    ["functions.read", "functions_read"],
    ["", "unknown"],
    ["x".repeat(100), "x".repeat(64)],
  ])(([name, expected]) => {
    const answer = answerOf(local, [callOfTool("a", { name })]);
    const [chat] = sent([answer]) as { tool_calls: { function: { name: string } }[] }[];
    expect(chat?.tool_calls[0]?.function.name).toBe(expected);
    expect(responsesRequest(callOf({ messages: [answer] })).input).toMatchObject([{ name: expected }]);
  }));

describe("ids of calls", () => {
  const foreign = "call_abc|fc_68a0c0ffee68a0c0ffee68a0c0ffee68a0c0ffee68a0c0ffee";

  test("an id that the provider takes is kept", () =>
    everyRow([
      ["local", "http://127.0.0.1:8080/v1", "functions.read:0", "functions.read:0"],
      ["openai", "https://api.openai.com/v1", "call_abc", "call_abc"],
      ["mistral", "https://api.mistral.ai/v1", "D681PevKs", "D681PevKs"],
    ])(([provider, url, id, expected]) => {
      expect(wireCallId(id, openAiServer(at(provider, url)).callId)).toBe(expected);
    }));

  test("an id that the provider refuses is replaced, the same for call and result", () =>
    everyRow([
      ["local", "http://127.0.0.1:8080/v1"],
      ["openai", "https://api.openai.com/v1"],
      ["mistral", "https://api.mistral.ai/v1"],
    ])(([provider, url]) => {
      const model = at(provider, url);
      const [, call, result] = sent(
        [user("Go"), answerOf(model, [callOfTool(foreign)]), resultOf(foreign)],
        model,
      ) as [unknown, { tool_calls: { id: string }[] }, { tool_call_id: string }];
      expect(call.tool_calls[0]?.id).toBe(result.tool_call_id);
      expect(result.tool_call_id).toMatch(openAiServer(model).callId.pattern);
    }));

  test("law: made ids fit, are the same each time, and keep different ids different", () => {
    for (const provider of ["local", "openai", "mistral"]) {
      const { callId } = openAiServer(at(provider, ""));
      fc.assert(
        fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
          const [first, second] = [wireCallId(a, callId), wireCallId(b, callId)];
          expect(first).toMatch(callId.pattern);
          expect(wireCallId(a, callId)).toBe(first);
          expect(first === second).toBe(a === b);
        }),
      );
    }
  });
});

describe("the prefix", () => {
  test("a request begins as the one before it, whatever the clock says", () => {
    const first: Message[] = [user("Go"), answerOf(local, [callOfTool("a")]), resultOf("a")];
    const parts: Partial<ProviderCall> = { tools: [readTool, { ...readTool, name: "ls" }], cacheKey: "s-1" };
    const before = chatRequest(callOf({ ...parts, messages: first }));
    const after = chatRequest(
      callOf({
        ...parts,
        messages: [...first, answerOf(local, [{ type: "text", text: "Done." }]), user("Thanks")],
      }),
    );
    expect(before.messages[0]).toEqual({ role: "system", content: "Be brief." });
    expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages);
    expect({ ...after, messages: [] }).toEqual({ ...before, messages: [] });
    expect(before.tools?.map((tool) => (tool as { function: { name: string } }).function.name)).toEqual([
      "read",
      "ls",
    ]);
  });

  test("tools are declared as they are", () => {
    expect(chatRequest(callOf({ tools: [readTool] })).tools).toEqual([
      {
        type: "function",
        function: { name: "read", description: "Reads a file.", parameters: readTool.parameters },
      },
    ]);
    expect(chatRequest(callOf())).not.toHaveProperty("tools");
  });
});
