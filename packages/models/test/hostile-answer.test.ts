import type { Message, ToolCall, Usage } from "@bonsai-agent/messages";
import { everyRow, type LoopbackReply, loopbackServer } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import {
  type FinalEvent,
  finalEvent,
  ModelClient,
  type ModelRequest,
  type StreamEvent,
} from "../src/index.ts";
import { repairMessages } from "../src/repair/repair.ts";
import { claude } from "./anthropic-exchange.ts";
import { answerOf, turnOf, user } from "./openai-exchange.ts";
import { type ProviderWire, providerWires } from "./provider-wires.ts";

const everyWire = everyRow(providerWires);

interface Asked {
  final: FinalEvent;
  body: unknown;
}

async function ask(
  wire: ProviderWire,
  reply: LoopbackReply,
  parts: Partial<ModelRequest> = {},
): Promise<Asked> {
  const server = await loopbackServer(() => reply);
  const model = { ...wire.model, baseUrl: server.url };
  try {
    const client = new ModelClient({ retry: { maxRetries: 0 } });
    const final = await finalEvent(client.stream(turnOf(model, parts)));
    return { final, body: server.requests[0]?.body };
  } finally {
    await server.close();
  }
}

const withDeep = ({ chunks = [], ...reply }: LoopbackReply, deep: string): LoopbackReply => ({
  ...reply,
  chunks: chunks.map((chunk) => String(chunk).replace('"DEEP"', deep)),
});
const calls = ({ final }: Asked) => final.message.content.filter((block) => block.type === "toolCall");
const counted = ({ cost, isUncounted: _, ...counts }: Usage) => [
  ...Object.values(counts),
  ...Object.values(cost),
];

const nonsense = [-5, "100", null, 1.5, "x", {}, [], true, 1e308, undefined];
const keys = [
  ...["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"],
  ...["cache_read_input_tokens", "cache_creation_input_tokens", "cached_tokens", "reasoning_tokens"],
];
const details = ["prompt_tokens_details", "input_tokens_details", "output_tokens_details", "cache_creation"];
test("whatever is counted, a usage is made of whole numbers from 0 up", () =>
  everyWire(async (wire) => {
    const value = fc.constantFrom<unknown>(...nonsense, 7, 40);
    const usage = fc
      .tuple(
        fc.dictionary(fc.constantFrom(...keys), value),
        fc.dictionary(
          fc.constantFrom(...details),
          fc.oneof(
            value,
            fc.dictionary(fc.constantFrom(...keys, "ephemeral_1h_input_tokens", "thinking_tokens"), value),
          ),
        ),
      )
      .map(([plain, nested]) => ({ ...plain, ...nested }));
    await fc.assert(
      fc.asyncProperty(usage, async (told) => {
        const { final } = await ask(wire, wire.text(told));
        const { cost: _cost, isUncounted: _, ...counts } = final.message.usage;
        for (const count of counted(final.message.usage)) expect(count).toBeGreaterThanOrEqual(0);
        for (const count of Object.values(counts)) expect(Number.isInteger(count)).toBe(true);
        expect(final.message.content).toEqual([{ type: "text", text: "All." }]);
      }),
    );
  }));

test("calls in parallel with one id, or none, get ids of their own", () =>
  everyWire(async (wire) => {
    const same = ["t1", "t1", "", "", "t2"].map((id, at) => ({ id, name: "read", args: `{"at":${at}}` }));
    const found = calls(await ask(wire, wire.calls(same)));
    expect(found.map((call) => call.arguments)).toEqual(same.map((_call, at) => ({ at })));
    expect(new Set(found.map(({ id }) => id)).size).toBe(5);
    expect(found[0]?.id).toBe("t1");
    expect(found[4]?.id).toBe("t2");
  }));

test("arguments that are nested too deep to be stored are malformed", () =>
  everyWire(async (wire) => {
    const args = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
    const found = calls(await ask(wire, wire.calls([{ id: "t1", name: "read", args }])));
    expect(found).toMatchObject([{ arguments: { [MALFORMED_ARGUMENTS]: args } }]);
    const within = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;
    const fits = calls(await ask(wire, wire.calls([{ id: "t1", name: "read", args: within }])));
    expect(fits).toMatchObject([{ arguments: JSON.parse(within) }]);
  }));

test("arguments of 200,000 levels are malformed, in pieces or at once", () =>
  everyWire(async (wire) => {
    const levels = 200_000;
    const deep = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const args = `{"path":${deep}}`;
    const inPieces = calls(await ask(wire, wire.calls([{ id: "t1", name: "read", args }])));
    expect(inPieces[0]?.arguments[MALFORMED_ARGUMENTS] === args).toBe(true);
    const atOnce = calls(await ask(wire, withDeep(wire.whole({ path: "DEEP" }), deep)));
    expect(Object.keys(atOnce[0]?.arguments ?? {})).toEqual([MALFORMED_ARGUMENTS]);
  }));

test("a refusal that is nested without end is a refusal like any other", () =>
  everyWire(async (wire) => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const headers = { "content-type": "application/json" };
    for (const body of [deep, `{"error": ${deep}}`, `{"error": {"message": ${deep}, "type": ${deep}}}`]) {
      const { final } = await ask(wire, { status: 400, headers, chunks: [body] });
      expect(final).toMatchObject({ type: "error", failure: { status: 400 } });
      expect(final.message.errorMessage).not.toMatch(/call stack/);
    }
  }));

test("deep arguments and odd names of a history do not stop a request", () =>
  everyWire(async (wire) => {
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 10_000; level += 1) deep = { deep };
    const call: ToolCall = { type: "toolCall", id: "t1", name: "re\u0000ad the file\n", arguments: deep };
    const messages: Message[] = [user("go"), answerOf(wire.model, [call])];
    const asked = await ask(wire, wire.text({}), { messages });
    expect(asked.final.type).toBe("done");
    expect(wire.names(asked.body)).toEqual(["re_ad_the_file_"]);
  }));

test("aborted at any event, a stream ends at once with what had come", () =>
  everyWire(async (wire) => {
    const server = await loopbackServer(({ body }) => {
      const isCalling = JSON.stringify(body).includes("call");
      return isCalling ? wire.calls([{ id: "t1", name: "read", args: '{"a":1}' }]) : wire.text({});
    });
    const model = { ...wire.model, baseUrl: server.url };
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.nat({ max: 6 }),
          fc.constantFrom("call", "say"),
          fc.boolean(),
          async (at, what, isLater) => {
            const abort = new AbortController();
            const seen: StreamEvent[] = [];
            const client = new ModelClient();
            const { signal } = abort;
            const request = turnOf(model, { messages: [user(what)], signal });
            for await (const event of client.stream(request)) {
              if (seen.length === at && isLater) setImmediate(() => abort.abort());
              else if (seen.length === at) abort.abort();
              seen.push(event);
            }
            const ends = seen.filter(({ type }) => type === "done" || type === "error");
            expect(ends).toEqual([seen.at(-1)]);
            const end = ends[0] as FinalEvent;
            if (end.type === "error") expect(end).toMatchObject({ message: { stopReason: "aborted" } });
            if (end.type === "error") expect(end).not.toHaveProperty("failure");
            if (!isLater && at < seen.length - 1) expect(seen.length).toBe(at + 2);
          },
        ),
      );
    } finally {
      await server.close();
    }
  }));

test("many streams of one client do not mix", () =>
  everyWire(async (wire) => {
    const server = await loopbackServer(({ body }) => {
      const said = /number (\d+)/.exec(JSON.stringify(body))?.[1] ?? "";
      return wire.calls([{ id: `t${said}`, name: "read", args: `{"number":${said}}` }]);
    });
    const client = new ModelClient();
    const model = { ...wire.model, baseUrl: server.url };
    const finals = await Promise.all(
      Array.from({ length: 40 }, (_none, number) =>
        finalEvent(client.stream(turnOf(model, { messages: [user(`number ${number}`)] }))),
      ),
    );
    await server.close();
    expect(finals.map(({ message }) => message.content)).toMatchObject(
      Array.from({ length: 40 }, (_none, number) => [{ id: `t${number}`, arguments: { number } }]),
    );
  }));

test("a history in which every call has the same id gets ids in order", () => {
  const answers = Array.from({ length: 3_000 }, (): Message[] => [
    answerOf(claude, [{ type: "toolCall", id: "c", name: "read", arguments: {} }]),
    {
      role: "toolResult",
      toolCallId: "c",
      toolName: "read",
      content: [{ type: "text", text: "x" }],
      isError: false,
      timestamp: 0,
    },
  ]);
  const taken = answerOf(claude, [{ type: "toolCall", id: "c-3", name: "read", arguments: {} }]);
  const { messages } = repairMessages({ messages: [user("go"), ...answers.flat(), taken], model: claude });
  const ids = messages.flatMap((message) =>
    message.role === "assistant" ? message.content.map((block) => (block as ToolCall).id) : [],
  );
  expect(ids.slice(0, 4)).toEqual(["c", "c-2", "c-4", "c-5"]);
  expect(new Set(ids).size).toBe(3_001);
});
