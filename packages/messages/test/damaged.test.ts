import {
  callsIn,
  chars4Estimator,
  contentBlocks,
  contentText,
  contextTokens,
  estimateContextTokens,
  inputTokens,
  jsonText,
  type Message,
  messageText,
  type Usage,
} from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const roles = [
  "user",
  "assistant",
  "toolResult",
  "bashExecution",
  "custom",
  "system",
  "branchSummary",
  "compactionSummary",
  "hookMessage",
];
const garbage = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
const garbageBlock = fc.record(
  {
    type: fc.oneof(fc.constantFrom("text", "image", "thinking", "toolCall"), garbage),
    text: garbage,
    thinking: garbage,
    name: garbage,
    id: garbage,
    arguments: garbage,
  },
  { requiredKeys: [] },
);
const garbageMessage = fc.oneof(
  garbage,
  fc.record(
    {
      role: fc.oneof(fc.constantFrom(...roles), garbage),
      content: fc.oneof(garbage, fc.array(fc.oneof(garbage, garbageBlock), { maxLength: 4 })),
      summary: garbage,
      command: garbage,
      output: garbage,
      exitCode: garbage,
      cancelled: garbage,
      excludeFromContext: garbage,
      usage: fc.oneof(garbage, fc.record({ input: garbage, output: garbage, totalTokens: garbage })),
      stopReason: garbage,
    },
    { requiredKeys: ["role"] },
  ),
) as fc.Arbitrary<Message>;

describe("damaged content reads as empty", () => {
  it("is never a TypeError: every reader is total over garbage", () => {
    fc.assert(
      fc.property(garbageMessage, (message) => {
        expect(typeof messageText(message)).toBe("string");
        for (const call of callsIn(message)) {
          expect(call).toMatchObject({ id: expect.any(String), name: expect.any(String) });
          expect(Object(call.arguments)).toBe(call.arguments);
        }
        const tokens = chars4Estimator.message(message);
        expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
        const context = estimateContextTokens({
          messages: [message],
          estimator: chars4Estimator,
        });
        expect(context.tokens).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("holds for contents and blocks alone", () => {
    const contents = fc.oneof(garbage, fc.array(fc.oneof(garbage, garbageBlock)));
    fc.assert(
      fc.property(contents, (content) => {
        for (const block of contentBlocks(content)) expect(typeof block.type).toBe("string");
        expect(typeof contentText(content)).toBe("string");
      }),
    );
  });

  it.each([undefined, null, 7, {}, [], [null], ["text"], [{ type: 1 }], [{ text: "no type" }]])(
    "%j is no text",
    (content) => {
      expect(contentText(content)).toBe("");
      expect(contentBlocks(content)).toEqual([]);
    },
  );

  it("sound blocks beside damaged ones are read", () => {
    expect(
      contentText([null, { type: "text", text: "a" }, { type: "text" }, { type: "text", text: "b" }]),
    ).toBe("a\nb");
  });

  it("a call without its parts has empty ones, and keeps what else it has", () => {
    const calls = callsIn({
      role: "assistant",
      content: [{ type: "toolCall", name: "bash", arguments: "ls", thoughtSignature: "s" }],
    } as unknown as Message);
    expect(calls).toEqual([{ type: "toolCall", id: "", name: "bash", arguments: {}, thoughtSignature: "s" }]);
  });

  it("a sound call is the stored object itself", () => {
    const call = { type: "toolCall", id: "1", name: "bash", arguments: {} };
    expect(callsIn({ role: "assistant", content: [call] } as unknown as Message)[0]).toBe(call);
  });

  it.each<[unknown, number, number]>([
    [undefined, 0, 0],
    [null, 0, 0],
    [{}, 0, 0],
    [{ input: "7", output: Number.NaN, cacheRead: -1 }, 0, 0],
    [{ input: 1, output: 2, cacheRead: 4, cacheWrite: 8 }, 15, 13],
    [{ input: 1, output: 2, totalTokens: 100 }, 100, 1],
  ])("the usage %j is %i tokens, %i of them the request's", (usage, total, prompt) => {
    expect(contextTokens(usage as Usage)).toBe(total);
    expect(inputTokens(usage as Usage)).toBe(prompt);
  });
});

describe("a command of the user", () => {
  it.each([
    [{ command: "ls", output: "a", cancelled: false, exitCode: 0 }, "$ ls\na"],
    [{ command: "ls", output: "", cancelled: false, exitCode: undefined }, "$ ls\n(no output)"],
    [{ command: "ls x", output: "no x", cancelled: false, exitCode: 2 }, "$ ls x\nno x\n(exit code 2)"],
    [
      { command: "sleep 9", output: "", cancelled: true, exitCode: 130 },
      "$ sleep 9\n(no output)\n(cancelled)",
    ],
  ])("%j", (message, text) => {
    expect(messageText({ role: "bashExecution", ...message } as Message)).toBe(text);
  });
});

describe("values nested deeper than the stack reaches", () => {
  it.each([5_000, 100_000])("%d levels are counted and shown in a few words", (depth) => {
    const path: unknown = JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    const content = [{ type: "toolCall", id: "t", name: "read", arguments: { path } }];
    const message = { role: "assistant", content } as unknown as Message;
    expect(chars4Estimator.message(message)).toBeGreaterThan(0);
    expect(callsIn(message)).toHaveLength(1);
    expect(jsonText(path)).toContain("[");
  });
});
