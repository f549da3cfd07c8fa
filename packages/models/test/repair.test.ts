import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CatalogueModel } from "../src/model.ts";
import { withoutOlderImages } from "../src/repair/repair.ts";
import { repairMessages } from "../src/repair/repair-calls.ts";

const model: CatalogueModel = {
  provider: "scripted",
  id: "scripted",
  name: "Scripted",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: true,
};

const user = (text: string, timestamp = 0): Message => ({ role: "user", content: text, timestamp });
const call = (id: string): AssistantContent => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: { path: "a" },
});
const text = (value: string): AssistantContent => ({ type: "text", text: value });
const thought = (value: string, thinkingSignature?: string): AssistantContent => ({
  type: "thinking",
  thinking: value,
  ...(thinkingSignature === undefined ? {} : { thinkingSignature }),
});
const image = (bytes = 12) => ({ type: "image" as const, data: "a".repeat(bytes), mimeType: "image/png" });
const result = (id: string, said = `result ${id}`): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "read",
  content: [{ type: "text", text: said }],
  isError: false,
  timestamp: 0,
});
const answer = (content: AssistantContent[], change: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: "assistant",
  content,
  api: "scripted",
  provider: "scripted",
  model: "scripted",
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp: 0,
  ...change,
});

const repaired = (
  messages: readonly unknown[],
  options: { dropThinkingUpToMs?: number; prefixChangedAtMs?: number } = {},
) => repairMessages({ messages: messages as Message[], model, ...options });
const kinds = (messages: readonly unknown[]) =>
  repaired(messages).repairs.map(({ kind, count }) => `${kind} ${count}`);
const shape = (messages: readonly Message[]) =>
  messages.map((message) =>
    message.role === "toolResult"
      ? `T(${message.toolCallId})`
      : message.role === "assistant"
        ? `A(${message.content.map((block) => (block.type === "toolCall" ? block.id : block.type)).join(" ")})`
        : message.role,
  );

test("signed thinking with half a character is left out: its signature would no longer hold", () => {
  const thinking = (thinkingSignature?: string): AssistantContent => ({
    type: "thinking",
    thinking: "a\ud83d",
    ...(thinkingSignature && { thinkingSignature }),
  });
  const said: AssistantContent = { type: "text", text: "yes" };
  const { messages } = repaired([user("go"), answer([thinking("s"), said]), answer([thinking(), said])]);
  expect(messages.slice(1)).toMatchObject([
    { content: [said] },
    { content: [{ type: "thinking", thinking: "a\ufffd" }, said] },
  ]);
});

test("sound messages come back as the same array", () => {
  const messages = [
    user("go"),
    answer([thought("hm", "sig"), text("yes"), call("a"), call("b")], { stopReason: "toolUse" }),
    result("b"),
    result("a"),
    answer([text("done")]),
    user("and?"),
  ];
  const { messages: sound, repairs } = repaired(messages);
  expect(sound).toBe(messages);
  expect(repairs).toEqual([]);
});

describe("calls and results", () => {
  test("a call without a result gets one that says so", () => {
    const { messages } = repaired([user("go"), answer([call("a"), call("b")]), result("b"), user("well?")]);
    expect(shape(messages)).toEqual(["user", "A(a b)", "T(b)", "T(a)", "user"]);
    expect(messages[3]).toMatchObject({
      content: [{ text: "No result was recorded." }],
      isError: true,
      toolName: "read",
    });
  });
  test("at the very end too", () => {
    expect(shape(repaired([user("go"), answer([call("a")])]).messages)).toEqual(["user", "A(a)", "T(a)"]);
  });
  test("a result that stands away from its call is moved behind it", () => {
    const messages = [user("go"), answer([call("a"), call("b")]), result("b"), user("wait"), result("a")];
    expect(shape(repaired(messages).messages)).toEqual(["user", "A(a b)", "T(b)", "T(a)", "user"]);
    expect(kinds(messages)).toEqual(["misplaced_result 1"]);
  });
  test("a result before its call, too", () => {
    const messages = [user("go"), result("a"), answer([call("a")])];
    expect(shape(repaired(messages).messages)).toEqual(["user", "A(a)", "T(a)"]);
  });
  test("a second result is left out", () => {
    const messages = [user("go"), answer([call("a")]), result("a", "first"), result("a", "second")];
    const { messages: sound } = repaired(messages);
    expect(sound).toHaveLength(3);
    expect(sound[2]).toMatchObject({ content: [{ text: "first" }] });
    expect(kinds(messages)).toEqual(["duplicate_result 1"]);
  });
  test("a result without a call becomes a text of the user", () => {
    const { messages } = repaired([user("go"), result("gone", "42 files"), answer([text("fine")])]);
    expect(shape(messages)).toEqual(["user", "user", "A(text)"]);
    expect(JSON.stringify(messages[1])).toContain("42 files");
  });
  test("one that says nothing is left out, one with an image is not", () => {
    expect(shape(repaired([user("go"), result("x", "[Old tool result content cleared]")]).messages)).toEqual([
      "user",
    ]);
    const seen = { ...result("x", ""), content: [image()] };
    expect(repaired([user("go"), seen]).messages[1]).toMatchObject({
      role: "user",
      content: [{ type: "text" }, image()],
    });
  });
  test("ids that collide become different, and results stay with their calls", () => {
    const messages = [
      user("go"),
      answer([call("a")]),
      result("a", "one"),
      answer([call("a"), call("a")]),
      result("a", "two"),
      result("a", "three"),
    ];
    const { messages: sound } = repaired(messages);
    expect(shape(sound)).toEqual(["user", "A(a)", "T(a)", "A(a-2 a-3)", "T(a-2)", "T(a-3)"]);
    expect(JSON.stringify(sound[5])).toContain("three");
    expect(kinds(messages)).toEqual(["call_id 2"]);
  });
});

describe("answers that broke off", () => {
  test("a failed one is left out", () => {
    const messages = [user("go"), answer([text("half")], { stopReason: "error" }), user("again")];
    expect(shape(repaired(messages).messages)).toEqual(["user", "user"]);
  });
  test("one from which nothing had come leaves nothing", () => {
    for (const stopReason of ["error", "aborted"] as const) {
      const messages = [user("go"), answer([], { stopReason }), user("again")];
      expect(shape(repaired(messages).messages)).toEqual(["user", "user"]);
      expect(kinds(messages)).toEqual([]);
    }
    expect(kinds([user("go"), answer([text("half")], { stopReason: "error" })])).toEqual(["failed_answer 1"]);
  });
  test("of an aborted one the text stays", () => {
    const aborted = answer([thought("hm", "s"), text("half"), call("a")], { stopReason: "aborted" });
    expect(shape(repaired([user("go"), aborted, user("again")]).messages)).toEqual([
      "user",
      "A(text)",
      "user",
    ]);
  });
  test("an aborted one without text is left out, and what its calls brought becomes text", () => {
    const aborted = answer([call("a")], { stopReason: "aborted" });
    expect(shape(repaired([user("go"), aborted, result("a"), user("again")]).messages)).toEqual([
      "user",
      "user",
      "user",
    ]);
  });
});

describe("thinking", () => {
  const thinking = answer([thought("hm", "sig"), text("yes")], { timestamp: 10 });
  test("of another model is left out", () => {
    const other = { ...thinking, model: "another" };
    expect(shape(repaired([user("go"), other]).messages)).toEqual(["user", "A(text)"]);
  });
  test("from before a compaction is left out, later thinking is not", () => {
    const summary = { role: "compactionSummary", summary: "before", tokensBefore: 1, timestamp: 20 };
    const later = { ...thinking, timestamp: 30 };
    expect(shape(repaired([summary, thinking, user("x"), later]).messages)).toEqual([
      "compactionSummary",
      "A(text)",
      "user",
      "A(thinking text)",
    ]);
  });
  test("from before an edit is left out, unless nothing binds it", () => {
    const free = answer([thought("hm"), text("yes")], { timestamp: 10 });
    const { messages } = repaired([user("go"), thinking, user("x"), free], { prefixChangedAtMs: 20 });
    expect(shape(messages)).toEqual(["user", "A(text)", "user", "A(thinking text)"]);
  });
  test("can all be left out, with the signatures of calls", () => {
    const signed = { ...call("a"), thoughtSignature: "s" } as AssistantContent;
    const { messages } = repaired([user("go"), answer([thought("hm", "s"), signed]), result("a")], {
      dropThinkingUpToMs: Number.POSITIVE_INFINITY,
    });
    expect(shape(messages)).toEqual(["user", "A(a)", "T(a)"]);
    expect(JSON.stringify(messages)).not.toContain("thoughtSignature");
  });
  test("that nothing follows is left out with its answer", () => {
    expect(shape(repaired([user("go"), answer([thought("hm", "s")]), user("x")]).messages)).toEqual([
      "user",
      "user",
    ]);
  });
});

describe("texts", () => {
  test("halves of characters are replaced everywhere, in arguments too", () => {
    const damaged = { ...call("a"), arguments: { "k\ud800": [{ deep: "x\udfff" }] } } as AssistantContent;
    const command = {
      role: "bashExecution",
      command: "ls",
      output: "\ud800",
      cancelled: false,
      truncated: false,
      timestamp: 0,
    };
    const messages = [
      user("a\ud83d"),
      answer([damaged]),
      { ...result("a"), content: [{ type: "text", text: "\udc00" }] },
      command,
    ];
    const { messages: sound, repairs } = repaired(messages);
    expect(repairs).toEqual([expect.objectContaining({ kind: "lone_surrogate", count: 4 })]);
    expect(JSON.stringify(sound)).not.toMatch(/\\ud[89a-f]/i);
    expect(sound[0]).toMatchObject({ content: "a\ufffd" });
  });
  test("whole characters are not touched", () => {
    expect(kinds([user("a 😀 漢字")])).toEqual([]);
  });
  test("empty messages and blocks are left out, a tool's empty result says so", () => {
    const messages = [
      user("go"),
      user(" \n"),
      { role: "user", content: [{ type: "text", text: "" }, image()], timestamp: 0 },
      answer([]),
      answer([text(""), call("a")]),
      { ...result("a"), content: [] },
      { role: "compactionSummary", summary: "", tokensBefore: 1, timestamp: 0 },
    ];
    const { messages: sound } = repaired(messages);
    expect(shape(sound)).toEqual(["user", "user", "A(a)", "T(a)"]);
    expect(sound[3]).toMatchObject({ content: [{ type: "text", text: "(no output)" }] });
    expect(kinds(messages)).toEqual(["empty_message 6"]);
  });
  test("a conversation that begins with an answer gets a line before it", () => {
    expect(shape(repaired([answer([text("hello")]), user("x")]).messages)).toEqual([
      "user",
      "A(text)",
      "user",
    ]);
    expect(kinds([answer([text("hello")]), user("x")])).toEqual(["no_user_first 1"]);
  });
});

test("damaged content is left out", () => {
  const messages = [
    null,
    { role: "nobody", content: "x" },
    {
      role: "user",
      content: [null, 3, { type: "text" }, { type: "image", data: "" }, { type: "text", text: "kept" }],
      timestamp: 0,
    },
    {
      ...answer([]),
      content: [{ type: "toolCall", id: "a" }, { type: "odd" }, { ...call("b"), arguments: "no" }],
    },
    { ...result("b"), content: undefined },
    { ...answer([]), content: "as a text" },
  ];
  const { messages: sound } = repaired(messages);
  expect(shape(sound)).toEqual(["user", "A(b)", "T(b)", "A(text)"]);
  expect(sound[0]).toMatchObject({ content: [{ type: "text", text: "kept" }] });
  expect(sound[1]).toMatchObject({ content: [{ arguments: {} }] });
});

describe("images", () => {
  const seen = (bytes: number) => ({
    role: "user",
    content: [image(bytes), { type: "text", text: "look" }],
    timestamp: 0,
  });
  test("become a line of text for a model that takes none", () => {
    const { messages, repairs } = repairMessages({
      messages: [seen(9) as Message],
      model: { ...model, input: ["text"] },
    });
    expect(messages[0]).toMatchObject({ content: [{ type: "text" }, { type: "text", text: "look" }] });
    expect(repairs[0]).toMatchObject({ kind: "image_not_supported", count: 1 });
  });
  test("are left out from the oldest on until the rest fits", () => {
    const messages = [seen(16_000_000), seen(16_000_000), seen(16_000_000)];
    const { messages: sound, repairs } = repaired(messages);
    expect(repairs[0]).toMatchObject({ kind: "too_many_bytes", count: 1 });
    expect(sound.slice(1)).toEqual(messages.slice(1));
  });
  test("above the provider's size of one are left out alone", () => {
    const anthropic = { ...model, api: "anthropic-messages" as const };
    const messages = [seen(6_000_000), seen(1_000)] as Message[];
    const { messages: sound } = repairMessages({ messages, model: anthropic });
    expect(JSON.stringify(sound[0])).toContain("too large");
    expect(sound[1]).toBe(messages[1]);
  });
  test("of older messages can be left out alone", () => {
    const messages = [seen(9), user("and"), seen(8)] as Message[];
    const less = withoutOlderImages(messages);
    expect(JSON.stringify(less[0])).toContain("left out");
    expect(less[2]).toBe(messages[2]);
    expect(withoutOlderImages(less)).toBe(less);
  });
});

/** What providers refuse, looked for in another way than the passes do. */
function refusals(messages: readonly Message[]): string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  const spoken = messages.filter(({ role }) => role !== "system");
  if (spoken[0]?.role === "assistant" || spoken[0]?.role === "toolResult")
    found.push("begins without a user");
  for (const [index, message] of messages.entries()) {
    if (!JSON.stringify(message).isWellFormed() || /\\ud[89a-f]/i.test(JSON.stringify(message)))
      found.push("surrogate");
    if ("content" in message && (message.content === "" || JSON.stringify(message.content) === "[]"))
      found.push("empty");
    if (message.role === "assistant") {
      const calls = message.content.filter((block) => block.type === "toolCall");
      for (const { id } of calls) {
        if (ids.has(id)) found.push(`id ${id} twice`);
        ids.add(id);
      }
      const behind = messages.slice(index + 1, index + 1 + calls.length);
      const answered = behind.map((next) => (next.role === "toolResult" ? next.toolCallId : next.role));
      if (
        answered.toSorted().join() !==
        calls
          .map(({ id }) => id)
          .toSorted()
          .join()
      )
        found.push("unanswered");
      if (message.stopReason === "error") found.push("failed answer");
    }
    if (message.role === "toolResult" && !ids.has(message.toolCallId)) found.push("no call");
  }
  const results = messages.filter(({ role }) => role === "toolResult");
  if (results.length !== ids.size) found.push("as many results as calls");
  return found;
}

const content = fc.array(
  fc.oneof(
    fc.constantFrom(
      call("a"),
      call("b"),
      call("c"),
      text("said"),
      text(""),
      thought("hm"),
      thought("hm", "sig"),
    ),
    fc.constantFrom<unknown>(
      null,
      7,
      { type: "odd" },
      { type: "toolCall" },
      { type: "text", text: "\ud800" },
      image(),
    ),
  ),
  { maxLength: 4 },
);
const anyMessage = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ content, stopReason: fc.constantFrom("stop", "error", "aborted"), timestamp: fc.nat(9) })
      .map((change) => ({ ...answer([]), ...change })),
  },
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "c", "d", "").map((id) => result(id)) },
  { weight: 2, arbitrary: content.map((blocks) => ({ role: "user", content: blocks, timestamp: 1 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      user("hi"),
      user(""),
      null,
      undefined,
      3,
      {},
      { role: "user" },
      { role: "assistant" },
      { role: "toolResult" },
      { role: "compactionSummary", summary: "s", timestamp: 5 },
    ),
  },
  { weight: 1, arbitrary: fc.anything() },
);

const anyDrop = fc.constantFrom(undefined, 0, Number.POSITIVE_INFINITY);

describe("laws", () => {
  test("what comes back is sound, and sound messages come back as the same array", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), anyDrop, (messages, dropThinkingUpToMs) => {
        const { messages: sound } = repaired(messages, { dropThinkingUpToMs });
        expect(refusals(sound)).toEqual([]);
        const again = repaired(sound, { dropThinkingUpToMs });
        expect(again.messages).toBe(sound);
        expect(again.repairs).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
  test("the projections of random sessions lose no text and no result", () => {
    fc.assert(
      fc.property(treeArbitrary(), (notation) => {
        const items = history(notation).session.projection().items;
        const messages = items.map((item) => item.message);
        const { messages: sound, repairs } = repaired(messages);
        expect(refusals(sound)).toEqual([]);
        if (repairs.length === 0) expect(sound).toBe(messages);
        const told = JSON.stringify(sound);
        for (const message of messages) {
          if (message.role === "assistant" && message.stopReason === "error") continue;
          for (const block of "content" in message && Array.isArray(message.content) ? message.content : [])
            if (block.type === "text") expect(told).toContain(JSON.stringify(block.text.trim()).slice(1, -1));
        }
      }),
    );
  });
  test("the input is not changed", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
        const before = structuredClone(messages);
        repaired(messages);
        expect(messages).toEqual(before);
      }),
    );
  });
});
