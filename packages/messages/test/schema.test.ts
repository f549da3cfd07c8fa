import {
  addUsage,
  BonsaiError,
  emptyUsage,
  type Message,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { messageSchema, type usageSchema, type userContentSchema } from "@bonsai-agent/messages/schemas";
import { describe, expect, it } from "vitest";
import type { z } from "zod";

// Held by the compiler: what a schema lets through and what the interface says are the same, unknown
// fields aside.

/** A type without its index signatures, at every depth. */
type Known<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? Known<Item>[]
    : T extends object
      ? { [Key in keyof T as string extends Key ? never : Key]: Known<T[Key]> }
      : T;
type Same<A, B> = [Known<A>] extends [Known<B>] ? ([Known<B>] extends [Known<A>] ? true : never) : never;
type StoredMessage = Exclude<Message, { role: "branchSummary" | "compactionSummary" }>;
type Output<Schema extends z.ZodType> = z.output<Schema>;
type OfRole<All, Role> = Extract<All, { role: Role }>;

true satisfies Same<Output<typeof userContentSchema>, UserContent>;
true satisfies Same<Output<typeof usageSchema>, Usage>;
({
  user: true,
  assistant: true,
  toolResult: true,
  bashExecution: true,
  custom: true,
  system: true,
}) satisfies {
  [Role in StoredMessage["role"]]: Same<
    OfRole<Output<typeof messageSchema>, Role>,
    OfRole<StoredMessage, Role>
  >;
};
// @ts-expect-error the comparison itself can fail
true satisfies Same<Output<typeof usageSchema>, Omit<Usage, "cost">>;
// @ts-expect-error and in the other direction
true satisfies Same<Omit<Usage, "input">, Output<typeof usageSchema>>;

const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: emptyUsage().cost };
const answer = {
  role: "assistant",
  content: [{ type: "text", text: "hi", textSignature: "s" }],
  api: "a",
  provider: "p",
  model: "m",
  usage,
  stopReason: "stop",
  timestamp: 1,
};

describe("messages as stored", () => {
  const sound = [
    ["a text of the user", { role: "user", content: "hi", timestamp: 1 }],
    [
      "blocks of the user",
      { role: "user", content: [{ type: "image", data: "", mimeType: "image/png" }], timestamp: 1 },
    ],
    ["an answer", answer],
    [
      "an answer that stopped for a reason of later",
      { ...answer, stopReason: "deferred", rawStopReason: "x" },
    ],
    [
      "an answer with all that a provider can tell",
      {
        ...answer,
        usage: { ...usage, reasoning: 1, cacheWrite1h: 2, totalTokens: 10 },
        responseId: "r",
        endTurn: true,
      },
    ],
    [
      "a tool result with a usage of its own",
      {
        role: "toolResult",
        toolCallId: "1",
        toolName: "agent",
        content: [{ type: "text", text: "ok" }],
        details: { any: [1] },
        usage,
        isError: false,
        timestamp: 1,
      },
    ],
    [
      "a command",
      { role: "bashExecution", command: "ls", output: "", cancelled: false, truncated: false, timestamp: 1 },
    ],
    ["an extension's", { role: "custom", customType: "t", content: "x", display: true, timestamp: 1 }],
    ["the system's", { role: "system", content: "prompt", sections: { a: "b" }, timestamp: 1 }],
  ] as const;
  it("pass with every field", () => {
    expect(sound.map(([name, message]) => [name, messageSchema.parse(message)])).toEqual(sound);
  });

  const broken = [
    ["no role", { content: "hi", timestamp: 1 }],
    ["a role of nobody", { role: "oracle", content: "hi", timestamp: 1 }],
    ["null content", { role: "user", content: null, timestamp: 1 }],
    ["an answer without usage", { ...answer, usage: undefined }],
    ["a call without arguments", { ...answer, content: [{ type: "toolCall", id: "1", name: "x" }] }],
  ] as const;
  it("do not pass without a known role and content", () => {
    for (const [name, message] of broken)
      expect.soft(messageSchema.safeParse(message).success, name).toBe(false);
  });
});

describe("usage", () => {
  it("adds up, parts that only one of the two tells included", () => {
    const sum = addUsage({ ...usage, reasoning: 2 }, { ...usage, totalTokens: 100 });
    expect(sum).toEqual({
      input: 2,
      output: 4,
      cacheRead: 6,
      cacheWrite: 8,
      reasoning: 2,
      totalTokens: 110,
      cost: emptyUsage().cost,
    });
    expect("cacheWrite1h" in sum).toBe(false);
  });

  it("an empty usage is neutral, and a damaged one adds nothing", () => {
    const whole = { ...usage, totalTokens: 10 };
    expect(addUsage(whole, emptyUsage())).toEqual(whole);
    expect(addUsage(whole, {} as Usage)).toEqual(whole);
  });
});

describe("BonsaiError", () => {
  it("carries code, message, hint and cause", () => {
    const cause = new Error("inner");
    const error = new BonsaiError({ code: "some_code", message: "what", hint: "how", cause });
    expect(error).toMatchObject({
      code: "some_code",
      message: "what",
      hint: "how",
      cause,
      name: "BonsaiError",
    });
    expect(error).toBeInstanceOf(Error);
  });

  it("is known across copies of the package, and nothing else is", () => {
    const ofAnotherCopy = { [Symbol.for("bonsai.error")]: true };
    expect(BonsaiError.is(new BonsaiError({ code: "c", message: "m", hint: "h" }))).toBe(true);
    expect(BonsaiError.is(ofAnotherCopy)).toBe(true);
    for (const other of [new Error("m"), null, undefined, "text", {}])
      expect(BonsaiError.is(other)).toBe(false);
  });
});
