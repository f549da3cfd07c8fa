import type { Message } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../src/model-request.ts";
import type { ProviderCall } from "../src/provider.ts";
import { model, refuses, says, stage, types } from "./staged-client.ts";

describe("repairs", () => {
  const unanswered: Message[] = [
    { role: "user", content: "go", timestamp: 0 },
    {
      role: "assistant",
      content: [{ type: "toolCall", id: "a", name: "read", arguments: {} }],
      api: "scripted",
      provider: "lab",
      model: "actor",
      stopReason: "toolUse",
      timestamp: 0,
      usage: {
        input: 0,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
    },
  ];
  test("are made before the request leaves and notified once", async () => {
    const { calls, ask, notices } = stage([says("yes")]);
    await ask({ messages: unanswered });
    await ask({ messages: unanswered });
    expect(calls.map(({ messages }) => messages.length)).toEqual([3, 3]);
    expect(notices).toEqual([
      { type: "repair", repairs: [expect.objectContaining({ kind: "unpaired_call", count: 1 })] },
    ]);
  });
  const thinking: Message[] = [
    { role: "user", content: "go", timestamp: 0 },
    {
      ...(unanswered[1] as Extract<Message, { role: "assistant" }>),
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "s" },
        { type: "text", text: "yes" },
      ],
    },
    { role: "user", content: "more", timestamp: 0 },
  ];
  const damaged = refuses("messages.1: Invalid `signature` in `thinking` block");
  test("leave out all thinking, once, when the provider calls the history damaged", async () => {
    const { calls, ask, notices } = stage([damaged, says("yes")]);
    expect((await ask({ messages: thinking })).type).toBe("done");
    expect(JSON.stringify(calls[0]!.messages)).toContain("hm");
    expect(JSON.stringify(calls[1]!.messages)).not.toContain("hm");
    expect(types(notices)).toEqual(["repair"]);
  });
  test("switch thinking off when a server misses the thinking of an earlier call", async () => {
    const misses = refuses(
      "messages.1.content.0: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    );
    const { calls, ask } = stage([misses, says("yes")]);
    expect((await ask({ thinking: "high" })).type).toBe("done");
    expect(calls.map(({ thinking }) => thinking)).toEqual(["high", "off"]);
  });
  test("repairs that did not help are not repeated", async () => {
    const { calls, ask } = stage([damaged]);
    expect(await ask({ messages: thinking })).toMatchObject({ failure: { kind: "damagedHistory" } });
    expect(calls).toHaveLength(2);
  });
  describe("are remembered", () => {
    const later = (at: number, role: "user" | "answer"): Message =>
      role === "user"
        ? { role, content: "more", timestamp: at }
        : { ...(thinking[1] as Extract<Message, { role: "assistant" }>), timestamp: at };
    const asked = (calls: readonly ProviderCall[]) =>
      calls.map((call) => [call.thinking, JSON.stringify(call.messages).split('"hm"').length - 1]);
    const request = { messages: thinking, thinking: "high" as const, cacheKey: "s1" };
    test("for the rest of the turn, without another notice", async () => {
      const { calls, ask, notices } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({ ...request, messages: [...thinking, later(0, "answer")] });
      expect(asked(calls)).toEqual([
        ["high", 1],
        ["off", 0],
        ["off", 0],
      ]);
      expect(types(notices)).toEqual(["repair"]);
    });
    test("and thinking comes back in the next turn, without what was refused", async () => {
      const { calls, ask } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({
        ...request,
        messages: [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")],
      });
      expect(asked(calls).slice(2)).toEqual([["high", 1]]);
    });
    test("but not after a second refusal", async () => {
      const { calls, ask } = stage([damaged, says("yes"), damaged, says("yes")]);
      await ask(request);
      const next = [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")];
      await ask({ ...request, messages: next });
      await ask({ ...request, messages: [...next, later(8, "answer"), later(9, "user")] });
      expect(asked(calls)).toEqual([
        ["high", 1],
        ["off", 0],
        ["high", 1],
        ["off", 0],
        ["off", 1],
      ]);
    });
    test("and refusals are counted anew when the context has changed", async () => {
      const { calls, ask } = stage([damaged, says("yes"), damaged, says("yes"), damaged, says("yes")]);
      const next = [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")];
      await ask(request);
      await ask({ ...request, messages: next });
      await ask({ ...request, messages: next, prefixChangedAtMs: 1 });
      await ask({ ...request, messages: [...next, later(9, "user")], prefixChangedAtMs: 1 });
      expect(calls.map((call) => call.thinking)).toEqual([
        ...["high", "off"],
        ...["high", "off"],
        ...["high", "off"],
        "high",
      ]);
    });
    test.each<[string, Partial<ModelRequest>]>([
      ["after an edit", { prefixChangedAtMs: -1 }],
      [
        "after a compaction",
        {
          messages: [
            { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: -1 },
            ...thinking,
          ],
        },
      ],
      ["for another session", { cacheKey: "s2" }],
      ["for another model", { model: { ...model, provider: "lab2", id: "actor" } }],
    ])("no longer %s", async (_name, change) => {
      const { calls, ask } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({ ...request, ...change });
      expect(calls[2]!.thinking).toBe("high");
    });
    test("not where they did not help, and of a context that is damaged in any way", async () => {
      const broken = { messages: [null, { role: "user" }, ...thinking] as never };
      const { calls, ask } = stage([damaged, damaged, damaged, says("yes"), says("yes")]);
      await ask(request);
      expect((await ask({ ...request, ...broken })).type).toBe("done");
      expect((await ask({ ...request, ...broken })).type).toBe("done");
      expect(calls.map((call) => call.thinking)).toEqual(["high", "off", "high", "off", "off"]);
    });
  });
  const seen = (data: string): Message => ({
    role: "user",
    content: [{ type: "image", data, mimeType: "image/png" }],
    timestamp: 0,
  });
  test("drop the images of older messages once when the request is too large", async () => {
    const { calls, ask, notices } = stage([
      refuses("Request exceeds the maximum size", { status: 413 }),
      says("yes"),
    ]);
    expect((await ask({ messages: [seen("old"), seen("new")] })).type).toBe("done");
    expect(JSON.stringify(calls[1]!.messages)).toMatch(/Image omitted.*"data":"new"/);
    expect(notices).toMatchObject([{ type: "repair", repairs: [{ kind: "too_many_bytes", count: 1 }] }]);
  });
  test("omit the newest image too, and fail as too long if only text is left", async () => {
    const refused = refuses("Request exceeds the maximum size", { status: 413 });
    const tooLong = { failure: { kind: "inputTooLong", isGuessed: true } };
    const withImage = stage([refused]);
    expect(await withImage.ask({ messages: [seen("new")] })).toMatchObject(tooLong);
    const { calls, ask } = stage([refused]);
    expect(await ask()).toMatchObject(tooLong);
    expect([withImage.calls.length, calls.length]).toEqual([2, 1]);
  });
});
