import type { AssistantContent, Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { repairMessages } from "../src/repair/repair.ts";
import { withoutOlderImages } from "../src/repair/repair-content.ts";
import {
  answer,
  call,
  image,
  kinds,
  model,
  repaired,
  result,
  shape,
  text,
  thought,
  user,
} from "./repaired-messages.ts";

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

describe("thinking", () => {
  const thinking = answer([thought("hm", "sig"), text("yes")], { timestamp: 10 });
  test("thinking of another provider, API or model is left out", () =>
    everyRow(["model", "provider", "api"])((field) => {
      const other = { ...thinking, [field]: "another" };
      expect(shape(repaired([user("go"), other]).messages)).toEqual(["user", "A(text)"]);
    }));
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
  test("is left out with its answer when nothing follows it", () => {
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

test("thinking that an older session stored in the text of an answer is not sent", () => {
  const answers = [
    answer([text("<think>hm</think>\n\nYes."), call("a")]),
    answer([text("hm\n</think>\nNo.")]),
    answer([text("<think>hm</think>")]),
    answer([text("A <think> tag.")]),
  ];
  const { messages } = repaired([
    user("go"),
    answers[0],
    result("a"),
    answers[1],
    user("?"),
    ...answers.slice(2),
  ]);
  const sent = messages.filter(({ role }) => role === "assistant");
  expect(sent).toMatchObject([
    { content: [text("Yes."), { type: "toolCall" }] },
    { content: [text("No.")] },
    { content: [text("A <think> tag.")] },
  ]);
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
  test("images of older messages can be left out alone", () => {
    const messages = [seen(9), user("and"), seen(8)] as Message[];
    const less = withoutOlderImages(messages);
    expect(JSON.stringify(less[0])).toContain("Image omitted");
    expect(less[2]).toBe(messages[2]);
    expect(withoutOlderImages(less)).toBe(less);
  });
});
