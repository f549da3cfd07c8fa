import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { AnswerBuilder } from "../src/answer-builder.ts";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import { type Provider, type ProviderCall, ProviderError } from "../src/provider.ts";
import type { ScenarioAnswer } from "../src/scripted/scenario.ts";
import { scriptedProvider } from "../src/scripted/scripted.ts";
import { callOf, long, model, perform, user } from "./scripted-calls.ts";

const said = async (provider: Provider, call = callOf()) => {
  const { answer, error } = await perform(provider, call);
  if (error !== undefined) throw error;
  return answer.message.content.map((block) => (block.type === "text" ? block.text : block.type)).join("|");
};

describe("the scripted answer", () => {
  test("comes in pieces: thinking, text, calls", async () => {
    const line: ScenarioAnswer = {
      thinking: "hm, hm",
      text: "I look.",
      calls: [{ name: "read", arguments: { path: "a" } }, { name: "ls" }],
      chunkChars: 4,
    };
    const { answer, events } = await perform(scriptedProvider({ turn: [line] }), callOf());
    expect(events.map(({ type }) => type)).toEqual([
      ...["thinking", "thinking", "text", "text"],
      ...["tool_call", "tool_call", "tool_call", "tool_call"],
    ]);
    expect(answer.message).toMatchObject({
      stopReason: "toolUse",
      content: [
        { type: "thinking", thinking: "hm, hm" },
        { type: "text", text: "I look." },
        { type: "toolCall", id: "call-1", name: "read", arguments: { path: "a" } },
        { type: "toolCall", id: "call-2", name: "ls", arguments: {} },
      ],
    });
  });

  test("ids of calls go on from request to request, and from the history that is there", async () => {
    const line = { calls: [{ name: "ls" }] };
    const provider = scriptedProvider(() => line);
    const ids = async (call: ProviderCall) =>
      (await perform(provider, call)).answer.message.content.map((block) => (block as { id: string }).id);
    expect(await ids(callOf())).toEqual(["call-1"]);
    expect(await ids(callOf())).toEqual(["call-2"]);
    const past = new AnswerBuilder(model, 0);
    past.endCall(past.beginCall({ id: "call-7", name: "ls" }));
    expect(await ids(callOf({ messages: [user("x"), past.message] }))).toEqual(["call-8"]);
  });

  test("arguments can be malformed", async () => {
    const provider = scriptedProvider({ turn: [{ calls: [{ name: "ls", argumentsText: '{"path": ' }] }] });
    const { answer } = await perform(provider, callOf());
    expect(answer.message.content[0]).toMatchObject({ arguments: { [MALFORMED_ARGUMENTS]: '{"path": ' } });
  });

  test("a cut stream breaks off in the middle of its last piece", async () => {
    const calls = [
      { name: "read", arguments: { path: "a" } },
      { name: "read", arguments: { path: "b" } },
    ];
    const cutCall = await perform(scriptedProvider({ turn: [{ text: "So.", calls, cut: true }] }), callOf());
    expect(cutCall.error).toMatchObject({ kind: "cut" });
    expect(cutCall.answer.hasOpenCall).toBe(true);
    expect(cutCall.events.filter((event) => event.type === "tool_call" && event.toolCall)).toHaveLength(1);
    const cutText = await perform(scriptedProvider({ turn: [{ text: "12345678", cut: true }] }), callOf());
    expect(cutText.error).toBeInstanceOf(ProviderError);
    expect(cutText.answer.message.content).toEqual([{ type: "text", text: "1234" }]);
  });

  test("an error comes before the answer, or in the middle of one", async () => {
    const error = { status: 529, code: "overloaded_error", message: "Overloaded", retryAfterMs: 2_000 };
    const refused = await perform(scriptedProvider({ turn: [{ error }] }), callOf());
    expect(refused.error).toMatchObject({ kind: "refused", ...error, body: { error } });
    expect(refused.events).toEqual([]);
    const late = await perform(scriptedProvider({ turn: [{ text: "Well", error }] }), callOf());
    expect(late.error).toMatchObject({ status: 529 });
    expect(late.events).toHaveLength(1);
  });

  test("the end of the list is an error that is not worth a retry, or the beginning again", async () => {
    const once = scriptedProvider({ turn: [{ text: "a", times: 2 }] });
    expect(await said(once)).toBe("a");
    expect(await said(once)).toBe("a");
    expect((await perform(once, callOf())).error).toMatchObject({ status: 400, code: "scenario_ended" });
    const title = await perform(once, callOf({ purpose: "title" }));
    expect(title.error).toMatchObject({ code: "scenario_ended" });
    const again = scriptedProvider({ turn: [{ text: "a" }, { text: "b" }], atEnd: "repeat" });
    const heard = [];
    for (let times = 0; times < 5; times += 1) heard.push(await said(again));
    expect(heard.join("")).toBe("ababa");
    const empty = scriptedProvider({ turn: [], atEnd: "repeat" });
    expect((await perform(empty, callOf())).error).toMatchObject({ code: "scenario_ended" });
  });

  test("purposes have lists of their own", async () => {
    const provider = scriptedProvider({
      turn: [{ text: "t1" }, { text: "t2" }],
      summary: [{ text: "s1" }],
      title: [{ text: "n1" }],
    });
    expect(await said(provider)).toBe("t1");
    expect(await said(provider, callOf({ purpose: "summary" }))).toBe("s1");
    expect(await said(provider, callOf({ purpose: "title" }))).toBe("n1");
    expect(await said(provider)).toBe("t2");
  });
});

describe("an abort", () => {
  test("ends the answer between two pieces, with the signal's reason", async () => {
    const controller = new AbortController();
    const provider = scriptedProvider({ turn: [{ text: "one two three", chunkChars: 4 }] });
    const answer = new AnswerBuilder(model, 0);
    const reading = async () => {
      for await (const event of provider.stream(callOf({ signal: controller.signal }), answer))
        if (event.type === "text") controller.abort(new Error("enough"));
    };
    await expect(reading()).rejects.toThrow("enough");
    expect(answer.message.content).toEqual([{ type: "text", text: "one " }]);
  });

  test("ends a wait at once", async () => {
    const controller = new AbortController();
    const provider = scriptedProvider({ turn: [{ text: "never", delayMs: 3_600_000 }] });
    const running = perform(provider, callOf({ signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect((await running).error).toMatchObject({ message: "enough" });
  });

  test("before the request keeps the answer for the next one", async () => {
    const provider = scriptedProvider({ turn: [{ text: "kept" }] });
    const aborted = await perform(provider, callOf({ signal: AbortSignal.abort(new Error("early")) }));
    expect(aborted.error).toMatchObject({ message: "early" });
    expect(await said(provider)).toBe("kept");
  });
});

describe("the wire", () => {
  test("a watcher of the scripted provider sees and may change the request, and the answer's beginning is reported", async () => {
    const seen: ProviderCall[] = [];
    const provider = scriptedProvider((call) => {
      seen.push(call);
      return { text: "ok" };
    });
    const statuses: number[] = [];
    const call = callOf({
      onPayload: async (payload) => ({ ...(payload as object), systemPrompt: "Changed." }),
      onResponse: async ({ status }) => {
        statuses.push(status);
      },
    });
    await perform(provider, call);
    expect(seen[0]).toMatchObject({ systemPrompt: "Changed.", model: { id: "actor" } });
    expect(statuses).toEqual([200]);
  });
});

describe("the window is enforced", () => {
  const turn = [{ text: "fits" }];
  test("a request is refused only above a known window", () =>
    everyRow<[string, number | undefined, number, RegExp | undefined]>([
      ["an unknown window", undefined, 1_000_000, undefined],
      ["input and cap fit", 3_000, 100, undefined],
      [
        "the cap does not fit",
        3_000,
        2_500,
        /^input length and `max_tokens` exceed context limit: \d+ \+ 2500 > 3000/,
      ],
      ["the input does not fit", 500, 100, /^prompt is too long: \d+ tokens > 500 maximum$/],
    ])(async ([, contextWindow, maxOutputTokens, refusal]) => {
      const messages = [user(long(1_000))];
      const call = callOf({ model: { ...model, contextWindow }, maxOutputTokens, messages });
      const { error } = await perform(scriptedProvider({ turn }), call);
      if (refusal === undefined) expect(error).toBeUndefined();
      else {
        expect(error).toMatchObject({ kind: "refused", status: 400 });
        expect((error as Error).message).toMatch(refusal);
      }
    }));

  test("and what the model would have said to a refused request is kept", async () => {
    const provider = scriptedProvider({ contextWindow: 600, turn: [{ text: "kept" }] });
    const { error } = await perform(provider, callOf({ messages: [user(long(1_000))] }));
    expect(error).toBeInstanceOf(ProviderError);
    expect(await said(provider)).toBe("kept");
  });

  test("by the scenario's window, whatever the catalogue says", async () => {
    const call = callOf({ model: { ...model, contextWindow: 1_000_000 }, messages: [user(long(1_000))] });
    const { error } = await perform(scriptedProvider({ contextWindow: 600, turn }), call);
    expect((error as Error).message).toContain("> 600 maximum");
  });
});
