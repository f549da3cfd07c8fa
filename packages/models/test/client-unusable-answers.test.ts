import { describe, expect, test } from "vitest";
import { refuses, type Step, says, stage } from "./staged-client.ts";

describe("an answer that says nothing", () => {
  const thinks: Step = async function* (_call, answer) {
    yield answer.thinking("Hm.");
    answer.setUsage({ input: 100, output: 10 });
    answer.stop("stop");
  };
  const blank: Step = async function* (_call, answer) {
    yield answer.text(" \n");
    answer.stop("stop");
  };
  const invisible: Step = async function* (_call, answer) {
    yield answer.text("\u200b\u2060 \u00ad\ufeff\u200e");
    answer.stop("stop");
  };
  const nothing: Step = async function* (_call, answer) {
    yield* [];
    answer.stop("stop");
  };
  test.each([
    ["thinking alone", thinks, "The model only produced thinking: its answer has no text and no tool call."],
    ["blanks", blank, "The model's answer was empty."],
    ["characters that nobody sees", invisible, "The model's answer was empty."],
    ["nothing", nothing, "The model's answer was empty."],
  ])("%s: is asked for once more, then reported as an error", async (_name, step, message) => {
    const { ask, calls, notices } = stage([step]);
    expect(await ask()).toMatchObject({
      type: "error",
      failure: { kind: "other", code: "answer_empty", message: `${message} Gave up after 2 attempts.` },
      message: { stopReason: "error" },
    });
    expect(calls.length).toBe(2);
    expect(notices).toMatchObject([{ type: "retry", attempt: 1, maxAttempts: 1, failure: { message } }]);
  });
  test("an answer behind it is taken, and what the empty one used is reported", async () => {
    const voided: unknown[] = [];
    const { ask } = stage([thinks, says("yes")]);
    const final = await ask({ onVoidedUsage: (usage) => voided.push(usage) });
    expect(final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(voided).toMatchObject([{ input: 100, output: 10 }]);
  });
  test("between other failures it is asked for only once more", async () => {
    const cut = refuses("later", { status: 503 });
    const { ask, calls } = stage([cut, nothing, cut, nothing, says("too late")]);
    expect(await ask()).toMatchObject({ failure: { code: "answer_empty" } });
    expect(calls.length).toBe(4);
  });
  test("not where nothing is retried, after an abort, at the output limit, or for another purpose", async () => {
    const once = stage([nothing], { retry: { maxRetries: 0 } });
    expect(await once.ask()).toMatchObject({ failure: { code: "answer_empty" } });
    expect(once.calls.length).toBe(1);
    const abort = new AbortController();
    const stopped = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        abort.abort();
      },
    ]);
    expect(await stopped.ask({ signal: abort.signal })).toMatchObject({ message: { stopReason: "aborted" } });
    expect(stopped.calls.length).toBe(1);
    const cut = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        answer.stop("length");
      },
    ]);
    expect(await cut.ask()).toMatchObject({
      failure: {
        code: "answer_empty",
        message: "The model reached its output limit before it wrote any text.",
      },
    });
    expect(cut.calls.length).toBe(1);
    for (const purpose of ["extension", "summary", "title"] as const)
      expect((await stage([nothing]).ask({ purpose })).type).toBe("done");
  });
});

describe("an answer that is too large", () => {
  test.each<[string, string, Step]>([
    [
      "text without end",
      "8,000,000 characters",
      async function* (_call, answer) {
        for (;;) yield answer.text("and so on ".repeat(10_000));
      },
    ],
    [
      "calls without end",
      "500 text blocks and tool calls",
      async function* (_call, answer) {
        for (;;) yield answer.endCall(answer.beginCall({ id: "", name: "ls" }));
      },
    ],
  ])("%s ends, and is not asked for again", async (_name, what, step) => {
    const { ask, calls } = stage([step]);
    expect(await ask()).toMatchObject({
      failure: {
        code: "answer_too_large",
        message: `The answer was too long: the server sent more than ${what}.`,
      },
    });
    expect(calls.length).toBe(1);
  });
  test("its beginning is kept, not what would fill the context", async () => {
    const { ask } = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        for (;;) yield answer.text("and so on ".repeat(10_000));
      },
    ]);
    const { message } = await ask();
    expect(message.content).toMatchObject([
      { thinking: "Hm." },
      { text: expect.stringMatching(/^(and so on )+/) },
    ]);
    expect(JSON.stringify(message.content).length).toBeLessThan(10_000);
  });
});
