import { describe, expect, test } from "vitest";
import {
  answer,
  call,
  image,
  kinds,
  repaired,
  result,
  shape,
  text,
  thought,
  user,
} from "./repaired-messages.ts";

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
  test("a call without a result at the very end gets one too", () => {
    expect(shape(repaired([user("go"), answer([call("a")])]).messages)).toEqual(["user", "A(a)", "T(a)"]);
  });
  test("a result that stands away from its call is moved behind it", () => {
    const messages = [user("go"), answer([call("a"), call("b")]), result("b"), user("wait"), result("a")];
    expect(shape(repaired(messages).messages)).toEqual(["user", "A(a b)", "T(b)", "T(a)", "user"]);
    expect(kinds(messages)).toEqual(["misplaced_result 1"]);
  });
  test("a result that stands before its call is moved behind it", () => {
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
  test("a result without a call is left out when it is empty, and kept when it has an image", () => {
    expect(shape(repaired([user("go"), result("x", "[Old tool result content cleared]")]).messages)).toEqual([
      "user",
    ]);
    const seen = { ...result("x", ""), content: [image()] };
    expect(repaired([user("go"), seen]).messages[1]).toMatchObject({
      role: "user",
      content: [{ type: "text" }, image(), { text: "[End of the earlier call's result.]" }],
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
  test("one without content is left out, and counts as no repair", () => {
    for (const stopReason of ["error", "aborted"] as const) {
      const messages = [user("go"), answer([], { stopReason }), user("again")];
      expect(shape(repaired(messages).messages)).toEqual(["user", "user"]);
      expect(kinds(messages)).toEqual([]);
    }
    expect(kinds([user("go"), answer([text("half")], { stopReason: "error" })])).toEqual(["failed_answer 1"]);
  });
  test("the text of an aborted answer stays", () => {
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
