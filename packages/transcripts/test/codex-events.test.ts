import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { projectionText } from "./projection-text.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-codex-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

type Line = [type: string, payload: object];

function rollout(version: string | undefined, ...lines: Line[]): ImportResult {
  const meta: Line = [
    "session_meta",
    { id: "c", cwd: "/p", ...(version === undefined ? {} : { cli_version: version }) },
  ];
  const text = [meta, ["turn_context", { model: "gpt-5-codex" }] as Line, ...lines]
    .map(([type, payload], at) =>
      JSON.stringify({ timestamp: new Date(Date.UTC(2026, 1, 3) + at * 1000).toISOString(), type, payload }),
    )
    .join("\n");
  const path = join(folder, `${files++}.jsonl`);
  writeFileSync(path, `${text}\n`);
  return importTranscript({ path });
}

const item = (payload: object): Line => ["response_item", payload];
const event = (payload: object): Line => ["event_msg", payload];
const asks = (text: string): Line =>
  item({ type: "message", role: "user", content: [{ type: "input_text", text }] });
const typed = (message: string, more: object = {}): Line => event({ type: "user_message", message, ...more });
const answers = (text: string): Line =>
  item({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
const calls = (id: string): Line =>
  item({ type: "function_call", name: "shell", arguments: "{}", call_id: id });
const output = (id: string): Line => item({ type: "function_call_output", call_id: id, output: `ran ${id}` });

/** A request's counts: `input` tokens, a tenth of them out. */
function counter() {
  let total = 0;
  const usage = (input: number) => ({
    input_tokens: input,
    cached_input_tokens: 0,
    output_tokens: input / 10,
    total_tokens: input * 1.1,
  });
  return (input: number): Line => {
    total += input;
    return event({
      type: "token_count",
      info: { total_token_usage: usage(total), last_token_usage: usage(input) },
      rate_limits: null,
    });
  };
}
const LIMITS = event({ type: "token_count", info: null, rate_limits: { primary: { used_percent: 1 } } });

/** Input tokens of each answer, and of requests that stand apart. */
function counted({ entries, report }: ImportResult) {
  const answered = entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" ? [entry.message.usage.input] : [],
  );
  const apart = entries.flatMap((entry) => (entry.type === "usage" ? [entry.usage.input] : []));
  return { answers: answered, apart, sum: report.usage.input };
}

describe("Codex: counts of tokens", () => {
  const before = (count = counter()): Line[] => [
    ...[asks("one"), LIMITS, count(100), calls("a"), output("a"), count(200), answers("1")],
    ...[asks("two"), LIMITS, count(300), answers("2")],
  ];
  const after = (count = counter()): Line[] => [
    ...[asks("one"), LIMITS, calls("a"), count(100), output("a"), answers("1"), count(200)],
    ...[asks("two"), LIMITS, answers("2"), count(300)],
  ];
  const BOTH = { answers: [100, 200, 300], apart: [], sum: 600 };

  test("before their items, in every version", () =>
    everyRow(["0.39.0", "0.103.9", undefined, "0.128.0"])((version) => {
      expect(counted(rollout(version, ...before()))).toEqual(BOTH);
    }));

  test("after their items, in every version", () =>
    everyRow(["0.39.0", "0.104.0", undefined, "1.2.0"])((version) => {
      expect(counted(rollout(version, ...after()))).toEqual(BOTH);
    }));

  test("a session that another version went on with", () => {
    const count = counter();
    const both = rollout("0.39.0", ...before(count), ...after(count));
    expect(counted(both)).toEqual({ answers: [100, 200, 300, 100, 200, 300], apart: [], sum: 1200 });
  });

  test("the version decides if the order does not", () => {
    const open = (count = counter()) => [asks("one"), answers("1"), count(100), answers("2")];
    expect(counted(rollout("0.50.0", ...open())).answers).toEqual([0, 100]);
    expect(counted(rollout("0.120.0", ...open())).answers).toEqual([100, 0]);
  });

  const SUMS: Array<[what: string, lines: (count: (input: number) => Line) => Line[], expected: object]> = [
    [
      "a turn that was aborted before its items",
      (count) => [
        asks("one"),
        count(100),
        event({ type: "turn_aborted", reason: "interrupted" }),
        asks("two"),
        count(50),
        answers("2"),
      ],
      { sum: 150 },
    ],
    [
      "a request whose counts are not in the file",
      (count) => [asks("one"), answers("1"), ...[count(100), count(200)].slice(1)],
      { answers: [200], apart: [100], sum: 300 },
    ],
    [
      "a request without items",
      (count) => [asks("one"), answers("1"), count(100), count(40), asks("two"), answers("2"), count(10)],
      { answers: [100, 10], apart: [40], sum: 150 },
    ],
    [
      "counts that are told again",
      (count) => {
        const again = count(100);
        return [asks("one"), answers("1"), again, again, LIMITS, asks("two"), again, answers("2"), count(30)];
      },
      { answers: [100, 30], apart: [], sum: 130 },
    ],
    [
      "counts that begin anew",
      (count) => [asks("one"), answers("1"), count(100), asks("two"), answers("2"), counter()(30)],
      { answers: [100, 30], apart: [], sum: 130 },
    ],
    [
      "totals alone",
      () => {
        const total = (input_tokens: number, output_tokens: number) =>
          event({
            type: "token_count",
            info: { total_token_usage: { input_tokens, output_tokens, cached_input_tokens: 0 } },
          });
        return [asks("one"), answers("1"), total(100, 5), asks("two"), answers("2"), total(130, 9)];
      },
      { answers: [100, 30], sum: 130 },
    ],
    [
      "the latest request alone",
      () => {
        const last = (input_tokens: number) =>
          event({ type: "token_count", info: { last_token_usage: { input_tokens, output_tokens: 1 } } });
        return [asks("one"), answers("1"), last(100), last(100), asks("two"), answers("2"), last(30)];
      },
      { answers: [100, 30], sum: 130 },
    ],
  ];
  test.each(SUMS)("%s", (_, lines, expected) => {
    expect(counted(rollout(undefined, ...lines(counter())))).toMatchObject(expected);
  });

  test("law: the sum is the last total, whatever the turns", () => {
    const request = fc.record({
      input: fc.integer({ min: 1, max: 9 }),
      has: fc.constantFrom("call", "text", "nothing"),
      isTold: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(fc.array(request, { maxLength: 4 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        (turns, isBefore) => {
          const count = counter();
          let total = 0;
          let toldTotal = 0;
          const lines = turns.flatMap((requests, turn) => [
            asks(`prompt ${turn}`),
            ...requests.flatMap(({ input, has, isTold }, at): Line[] => {
              const id = `${turn}.${at}`;
              total += input * 10;
              const counts = count(input * 10);
              if (isTold) toldTotal = total;
              const items = has === "call" ? [calls(id), output(id)] : has === "text" ? [answers(id)] : [];
              const told = isTold ? [counts] : [];
              return isBefore ? [...told, ...items] : [...items, ...told];
            }),
          ]);
          const { usage } = rollout(isBefore ? "0.60.0" : "0.110.0", ...lines).report;
          expect([usage.input, usage.output]).toEqual([toldTotal, toldTotal / 10]);
        },
      ),
    );
  });
});

describe("Codex: prompts that events have", () => {
  const users = (result: ImportResult) => projectionText(result).filter((line) => /^[UA] /.test(line));

  test("alone, with images and files", () => {
    const all = rollout(
      undefined,
      typed("Build it.", {
        images: ["data:image/png;base64,aGk="],
        local_images: ["/tmp/a.png"],
        text_elements: [],
      }),
      ...[
        answers("Built."),
        typed("", { text_elements: [{ placeholder: "[Pasted 4 lines]" }] }),
        answers("Seen."),
      ],
      ...[typed("", { images: ["https://example.org/x.png"] }), answers("Nice.")],
    );
    expect(users(all)).toEqual([
      ...["U Build it. | <image> | [image: /tmp/a.png]", "A Built.", "U [Pasted 4 lines]", "A Seen."],
      ...["U [image: https://example.org/x.png]", "A Nice."],
    ]);
    expect(all.report.notices.map(({ kind, lines }) => [kind, ...lines])).toEqual([
      ["event_prompts", 3, 5, 7],
      ["image_not_stored", 3, 7],
    ]);
  });

  const wrapped =
    "# Context from my IDE setup:\n\n## Active file: a.ts\n\n## My request for Codex:\nMend   the\nbasket.";
  const SAID: Array<[what: string, lines: Line[], expected: string[]]> = [
    ["item first", [asks("Go."), typed("Go."), answers("1")], ["U Go.", "A 1"]],
    ["event first", [typed("Go."), asks("Go."), answers("1")], ["U Go.", "A 1"]],
    [
      "an item with an editor's words around",
      [asks(wrapped), typed("Mend the basket."), answers("1")],
      ["U Mend   the basket.", "A 1"],
    ],
    [
      "both with an editor's words around",
      [asks(wrapped), typed(wrapped), answers("1")],
      ["U Mend   the basket.", "A 1"],
    ],
    [
      "an event with more words",
      [asks("Mend the basket."), typed("Please:\nMend the basket."), answers("1")],
      ["U Mend the basket.", "A 1"],
    ],
    [
      "beside preambles that hold the words by chance",
      [asks("# AGENTS.md instructions\n\nSay y."), typed("y"), answers("1")],
      ["U y", "A 1"],
    ],
    [
      "an item that reads like a program's text",
      [asks("<skill name='a'>\nDo it.\n</skill>"), typed("<skill name='a'>\nDo it.\n</skill>"), answers("1")],
      ["A 1"],
    ],
    [
      "beside another prompt that holds the words by chance",
      [asks("Try it"), typed("Try it"), typed("y"), answers("1")],
      ["U Try it", "U y", "A 1"],
    ],
    [
      "the same words twice, once in an item",
      [asks("go on"), typed("go on"), answers("1"), typed("go on"), answers("2")],
      ["U go on", "A 1", "U go on", "A 2"],
    ],
    [
      "an item that comes when the model gets it",
      [
        asks("One."),
        typed("One."),
        calls("a"),
        typed("Two."),
        output("a"),
        calls("b"),
        output("b"),
        asks("Two."),
        answers("1"),
      ],
      ["U One.", "A shell()", "A shell()", "U Two.", "A 1"],
    ],
    [
      "images alone",
      [
        item({
          type: "message",
          role: "user",
          content: [{ type: "input_image", image_url: "data:image/png;base64,aGk=" }],
        }),
        typed("", { images: ["data:image/png;base64,aGk="] }),
        answers("1"),
      ],
      ["U <image>", "A 1"],
    ],
    [
      "an image between tags",
      [
        item({
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "<image name=[Image #1]>" },
            { type: "input_image", image_url: "data:image/png;base64,aGk=" },
            { type: "input_text", text: "</image>" },
            { type: "input_text", text: "See." },
          ],
        }),
        typed("See.", { local_images: ["/tmp/a.png"] }),
        answers("1"),
      ],
      ["U <image name=[Image #1]> | <image> | </image> | See.", "A 1"],
    ],
  ];
  test("are not doubled", () =>
    everyRow(SAID)(([, lines, expected]) => {
      expect(users(rollout(undefined, ...lines))).toEqual(expected);
    }));

  test("turns that were taken back are counted by them", () => {
    const all = rollout(
      undefined,
      typed("One."),
      answers("1"),
      typed("Two."),
      answers("2"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
      typed("Three."),
    );
    expect(users(all)).toEqual(["U One.", "A 1", "U Three."]);
  });
});

describe("Codex: turns that were cancelled", () => {
  const aborted = event({ type: "turn_aborted", reason: "interrupted" });
  const mark = asks("<turn_aborted>\n  The user interrupted the previous turn.\n</turn_aborted>");
  const stops = ({ entries }: ImportResult) =>
    entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "assistant" ? [entry.message.stopReason] : [],
    );

  test.each([
    ["before an answer", [], ["aborted"]],
    ["within an answer", [answers("I am")], ["aborted"]],
    ["before a call ran", [calls("a")], ["aborted"]],
    ["after a call", [calls("a"), output("a")], ["toolUse", "aborted"]],
  ])("%s", (_, lines: Line[], expected) => {
    for (const ends of [[aborted], [mark], [mark, aborted], [aborted, mark]]) {
      const all = rollout(undefined, asks("Go."), ...lines, ...ends, asks("Go on."), answers("Yes."));
      expect(stops(all)).toEqual([...expected, "stop"]);
      expect(all.report.models).toEqual(["openai/gpt-5-codex"]);
      expect(all.report.notices.find(({ kind }) => kind === "cancelled_turns")).toMatchObject({
        count: 1,
        lines: [4 + lines.length],
      });
    }
  });
});
