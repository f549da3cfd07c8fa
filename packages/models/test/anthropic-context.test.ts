import {
  type AssistantContent,
  emptyUsage,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anthropicCallIds, anthropicContext, type WireMessage } from "../src/anthropic/anthropic-context.ts";
import { wireCallId } from "../src/wire/fields.ts";
import { claude } from "./anthropic-exchange.ts";

const png = { type: "image", data: "iVBORw0=", mimeType: "image/png" } as const;
const wirePng = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0=" } };

function user(content: string): Message {
  return { role: "user", content, timestamp: 0 };
}

function assistant(content: AssistantContent[], model = claude.id): Message {
  const { api, provider } = claude;
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

function call(id: string): AssistantContent {
  return { type: "toolCall", id, name: "read", arguments: { path: "a.ts" } };
}

function result(toolCallId: string, parts: Partial<ToolResultMessage> = {}): Message {
  const content = [{ type: "text", text: "ok" } as const];
  return {
    role: "toolResult",
    toolCallId,
    toolName: "read",
    content,
    isError: false,
    timestamp: 0,
    ...parts,
  };
}

function wire(...messages: Message[]): WireMessage[] {
  return anthropicContext(messages);
}

const anthropicCallId = (id: string) => wireCallId(id, anthropicCallIds);

describe("user-role messages", () => {
  test("a user's text and images are sent", () => {
    expect(wire(user("Hello"), assistant([{ type: "text", text: "Hi" }]))).toEqual([
      { role: "user", content: [{ type: "text", text: "Hello" }] },
      { role: "assistant", content: [{ type: "text", text: "Hi" }] },
    ]);
    const message: Message = { role: "user", content: [{ type: "text", text: "See" }, png], timestamp: 0 };
    expect(wire(message)).toEqual([{ role: "user", content: [{ type: "text", text: "See" }, wirePng] }]);
  });

  test("commands, notes of extensions and summaries are the user's, in one message", () => {
    const bash = {
      role: "bashExecution",
      command: "ls",
      output: "a.ts",
      cancelled: false,
      truncated: false,
      timestamp: 0,
    } as const;
    const messages = wire(
      { role: "compactionSummary", summary: "# The past", tokensBefore: 9, timestamp: 0 },
      { role: "branchSummary", summary: "# A branch", fromId: "e1", timestamp: 0 },
      { role: "system", content: "for others", timestamp: 0 },
      { role: "custom", customType: "note", content: "noted", display: true, timestamp: 0 },
      { role: "custom", customType: "note", content: [png], display: true, timestamp: 0 },
      { ...bash, exitCode: 2 },
      { ...bash, command: "secret", excludeFromContext: true },
      user("Go on"),
    );
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: framed(FRAMES.record, "# The past") },
          { type: "text", text: framed(FRAMES.branchRecord, "# A branch") },
          { type: "text", text: "[Message added by note:]" },
          { type: "text", text: "noted" },
          { type: "text", text: "[End of the message added by note.]" },
          { type: "text", text: "[Message added by note:]" },
          wirePng,
          { type: "text", text: "[End of the message added by note.]" },
          {
            type: "text",
            text: "[The user ran a command:]\n\n$ ls\na.ts\n(exit code 2)\n\n[End of the command's output.]",
          },
          { type: "text", text: "Go on" },
        ],
      },
    ]);
  });

  test("an image of a type that the API does not take is named", () => {
    const message: Message = { role: "user", content: [{ ...png, mimeType: "image/svg+xml" }], timestamp: 0 };
    expect(wire(message)).toEqual([
      { role: "user", content: [{ type: "text", text: expect.stringContaining("image/svg+xml") }] },
    ]);
  });
});

describe("calls and results", () => {
  test("results in a row are one message, and stand before what the user added", () => {
    const messages = wire(
      assistant([call("a"), call("b")]),
      result("a"),
      user("stop"),
      result("b", { isError: true }),
    );
    expect(messages[1]).toEqual({
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "ok" }] },
        { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "ok" }], is_error: true },
        { type: "text", text: "stop" },
      ],
    });
  });

  test("a result may show images; those of a failed one stand behind it", () => {
    const content = [{ type: "text", text: "shot" } as const, png];
    expect(wire(result("a", { content }))[0]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "shot" }, wirePng] },
    ]);
    expect(wire(result("a", { content, isError: true }))[0]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "shot" }], is_error: true },
      wirePng,
    ]);
  });

  test("a result without content is still a result", () => {
    expect(wire(result("a", { content: [] }))[0]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a" },
    ]);
  });

  test("ids of other providers are made legal, the same for call and result", () => {
    const id = "call_9|fc:0a1b";
    const [first, second] = wire(assistant([call(id)]), result(id));
    const [use] = first?.content ?? [];
    const [answer] = second?.content ?? [];
    expect(use).toMatchObject({ type: "tool_use", id: anthropicCallId(id), input: { path: "a.ts" } });
    expect(answer).toMatchObject({ type: "tool_result", tool_use_id: anthropicCallId(id) });
  });

  test("Invariant: an id is legal, kept when it was, and different for different ids", () => {
    const ids = fc.oneof(fc.string({ maxLength: 200 }), fc.stringMatching(/^[|:a-c]{120,140}$/));
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        expect(anthropicCallId(a)).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
        expect(anthropicCallId(anthropicCallId(a))).toBe(anthropicCallId(a));
        expect(anthropicCallId(a) === anthropicCallId(b)).toBe(a === b);
      }),
    );
    expect(anthropicCallId("toolu_01A-b")).toBe("toolu_01A-b");
  });
});

describe("thinking", () => {
  const signed: AssistantContent = { type: "thinking", thinking: "Hm", thinkingSignature: "sig" };
  const omitted: AssistantContent = { type: "thinking", thinking: "", thinkingSignature: "sig-2" };
  const withheld: AssistantContent = {
    type: "thinking",
    thinking: "",
    thinkingSignature: "DATA",
    redacted: true,
  };
  const unsigned: AssistantContent = { type: "thinking", thinking: "Hm" };
  const text: AssistantContent = { type: "text", text: "Yes" };

  test("goes back with its signature, in its place, to the model that it came from", () => {
    expect(wire(assistant([signed, call("a"), omitted, withheld, text]))[0]?.content).toMatchObject([
      { type: "thinking", thinking: "Hm", signature: "sig" },
      { type: "tool_use", id: "a" },
      { type: "thinking", thinking: "", signature: "sig-2" },
      { type: "redacted_thinking", data: "DATA" },
      { type: "text", text: "Yes" },
    ]);
  });

  test("without a signature it is left out", () => {
    expect(wire(assistant([unsigned, text]))[0]?.content).toEqual([{ type: "text", text: "Yes" }]);
  });
});
