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

  const contents = [undefined, null, 7, {}, [], [null], ["text"], [{ type: 1 }], [{ text: "no type" }]];
  it("content of another type has no text", () => {
    for (const content of contents) {
      expect.soft(contentText(content), JSON.stringify(content)).toBe("");
      expect.soft(contentBlocks(content), JSON.stringify(content)).toEqual([]);
    }
  });

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

  const usages: [unknown, number, number][] = [
    [undefined, 0, 0],
    [null, 0, 0],
    [{}, 0, 0],
    [{ input: "7", output: Number.NaN, cacheRead: -1 }, 0, 0],
    [{ input: 1, output: 2, cacheRead: 4, cacheWrite: 8 }, 15, 13],
    [{ input: 1, output: 2, totalTokens: 100 }, 100, 1],
  ];
  it("counts of another type are 0 tokens", () => {
    for (const [usage, total, prompt] of usages) {
      expect.soft(contextTokens(usage as Usage), JSON.stringify(usage)).toBe(total);
      expect.soft(inputTokens(usage as Usage), JSON.stringify(usage)).toBe(prompt);
    }
  });
});

describe("a command of the user", () => {
  const commands = [
    [{ command: "ls", output: "a", cancelled: false, exitCode: 0 }, "$ ls\na"],
    [{ command: "ls", output: "", cancelled: false, exitCode: undefined }, "$ ls\n(no output)"],
    [{ command: "ls x", output: "no x", cancelled: false, exitCode: 2 }, "$ ls x\nno x\n(exit code 2)"],
    [
      { command: "sleep 9", output: "", cancelled: true, exitCode: 130 },
      "$ sleep 9\n(no output)\n(cancelled)",
    ],
  ] as const;
  it("is written with its output and its ending", () => {
    expect(
      commands.map(([message]) => [message, messageText({ role: "bashExecution", ...message } as Message)]),
    ).toEqual(commands);
  });
});

describe("values nested deeper than the stack reaches", () => {
  it("are counted and shown in a few words", () => {
    for (const depth of [5_000, 100_000]) {
      const path: unknown = JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
      const content = [{ type: "toolCall", id: "t", name: "read", arguments: { path } }];
      const message = { role: "assistant", content } as unknown as Message;
      expect.soft(chars4Estimator.message(message), `${depth}`).toBeGreaterThan(0);
      expect.soft(callsIn(message), `${depth}`).toHaveLength(1);
      expect.soft(jsonText(path), `${depth}`).toContain("[");
    }
  });
});
