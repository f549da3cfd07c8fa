import { setTimeout as wait } from "node:timers/promises";
import {
  type LoopbackReply,
  type LoopbackRequest,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
  type Wire,
  type WireAnswer,
  type WireCall,
  type WireEvent,
  type WireName,
  wires,
} from "@bonsai-agent/testkit";

interface Occasion {
  wire: Wire;
  request: LoopbackRequest;
  /** 0 for the first request of the fault. */
  count: number;
}

/** The faults by name. */
type Fault = (occasion: Occasion) => LoopbackReply;

const SSE = { "content-type": "text/event-stream" };
const HTML = { "content-type": "text/html" };
const PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Hello</body></html>";
/** Between two pings. */
const PING_MS = 5;

const said: WireAnswer = { text: "Wir prüfen größere Bäume." };
const listing: WireCall = { id: "call_a", name: "ls", arguments: '{"path":"."}' };

function stream(events: readonly WireEvent[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  return { headers: SSE, chunks: sseChunks(events), end };
}

function answers(answer: WireAnswer): Fault {
  return ({ wire }) => stream(wire.answer(answer));
}

/** Cuts the bytes of an answer behind a mark in them. */
function cutBehind(
  mark: string,
  { answer = said, byte = 0 }: { answer?: WireAnswer; byte?: number } = {},
): Fault {
  return ({ wire }) => {
    const bytes = Buffer.from(sseChunks(wire.answer(answer)).join(""));
    const at = bytes.indexOf(mark);
    return { headers: SSE, chunks: [bytes.subarray(0, at + byte)], end: "cut" };
  };
}

/** An answer that begins well and goes on with events that do not belong there. */
function amid(odd: (wire: Wire) => WireEvent[]): Fault {
  return ({ wire }) => {
    const [first, ...rest] = wire.answer(said);
    return stream([first!, ...odd(wire), ...rest]);
  };
}

function oddPart(part: unknown): Fault {
  return amid((wire) => [wire.odd(part)]);
}

async function* pings(wire: Wire): AsyncIterable<string> {
  for (;;) {
    await wait(PING_MS);
    yield `: still here\n\n${sseChunks([wire.ping()]).join("")}`;
  }
}

function* pieces(wire: Wire, kind: "text" | "thinking"): Iterable<string> {
  const piece = sseChunks([wire.piece(kind, "and so on ".repeat(10_000))]).join("");
  for (;;) yield piece;
}

function* oneLine(): Iterable<string> {
  const part = "x".repeat(1_000_000);
  yield 'data: {"x":"';
  for (;;) yield part;
}

function counted(usage: (request: LoopbackRequest) => WireAnswer["usage"]): Fault {
  return ({ wire, request }) => stream(wire.answer({ ...said, usage: usage(request) }));
}

/** About as many tokens as the request has. */
function tokensOf({ body }: LoopbackRequest): number {
  return Math.ceil(JSON.stringify(body).length / 4);
}

function refuses(status: number, body = "", headers: Record<string, string> = {}): Fault {
  return () => ({ status, headers, chunks: body === "" ? [] : [body] });
}

function called(call: (count: number) => WireCall): Fault {
  return ({ wire, count }) => stream(wire.answer({ calls: [call(count)] }));
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

/** Every way to misbehave, by name. */
export const faults = {
  "connection refused": () => ({ end: "refuse" }),
  "cut after the head": () => ({ headers: SSE, end: "cut" }),
  "cut in an event": cutBehind("Wir pr"),
  "cut in a character": cutBehind("ü", { byte: 1 }),
  "cut before the end": ({ wire }) => stream(wire.answer(said).slice(0, -3), "cut"),
  "closed before the end": ({ wire }) => stream(wire.answer(said).slice(0, -3)),
  "cut in the arguments": cutBehind("pa", { answer: { calls: [listing] }, byte: 2 }),

  "stall before the head": () => ({ end: "mute" }),
  "stall after the head": () => ({ headers: SSE, end: "hang" }),
  "stall in the middle": ({ wire }) => stream(wire.answer(said).slice(0, -3), "hang"),
  "pings without end": ({ wire }) => ({ headers: SSE, more: pings(wire) }),
  "pings behind a text": ({ wire }) => ({
    headers: SSE,
    chunks: sseChunks([...wire.opening("text"), wire.piece("text", "Well")]),
    more: pings(wire),
  }),

  "events that are no JSON": amid(() => [{ data: "{nonsense" }]),
  "a page with status 200": () => ({ headers: HTML, chunks: [PAGE] }),
  "another content type": ({ wire }) => ({
    ...stream(wire.answer(said)),
    headers: { "content-type": "text/plain" },
  }),
  "an event that is null": amid(() => [{ data: "null" }]),
  "an event that is a list": amid(() => [{ data: "[1]" }]),
  "an event that is a number": amid(() => [{ data: "5" }]),
  "a part that is null": oddPart(null),
  "a part that is a list": oddPart([]),
  "a part that is a number": oddPart(5),
  "a list that is an object": amid(() => [
    { data: { type: "response.completed", choices: {}, response: { status: "completed", output: {} } } },
  ]),
  "a delta that is null": amid((wire) => [
    wire === wires["openai-chat"]
      ? { data: { choices: [{ index: 0, delta: null }] } }
      : { data: { type: "content_block_delta", index: 0, delta: null } },
  ]),
  "a text that is an object": amid((wire) => [
    ...wire.opening("text").slice(1),
    wire.piece("text", { a: 1 }),
  ]),
  "a content that is [null]": amid((wire) => [wire.piece("text", [null])]),
  "events of unknown types": amid(() => [{ data: { type: "later.thing", object: "later.thing" } }]),
  "events out of order": ({ wire }) => stream(wire.answer({ ...said, calls: [listing] }).toReversed()),
  "every event twice": ({ wire, count }) =>
    count === 0
      ? stream(wire.answer({ calls: [listing] }).flatMap((event) => [event, event]))
      : stream(wire.answer(said)),
  "a call without a name": ({ wire, count }) =>
    stream(wire.answer(count === 0 ? { calls: [{ ...listing, name: undefined }] } : said)),
  "a call without an id": ({ wire, count }) =>
    stream(wire.answer(count === 0 ? { calls: [{ ...listing, id: undefined }] } : said)),
  "calls whose id is a number": ({ wire, count }) =>
    stream(wire.answer(count === 0 ? { calls: [{ ...listing, id: 7 }] } : said)),
  "arguments that are no JSON": ({ wire, count }) =>
    stream(wire.answer(count === 0 ? { calls: [{ ...listing, arguments: '{"path":' }] } : said)),

  "one line without end": () => ({ headers: SSE, more: oneLine() }),
  "text without end": ({ wire }) => ({
    headers: SSE,
    chunks: sseChunks(wire.opening("text")),
    more: pieces(wire, "text"),
  }),
  "thinking without end": ({ wire }) => ({
    headers: SSE,
    chunks: sseChunks(wire.opening("thinking")),
    more: pieces(wire, "thinking"),
  }),
  "thousands of calls": ({ wire }) =>
    stream(
      wire.answer({
        calls: Array.from({ length: 3_000 }, (_none, at) => ({ ...listing, id: `call_${at}` })),
      }),
    ),
  "an event nested deep": amid(() => [{ data: nested(50_000) }]),
  "arguments nested deep": ({ wire, count }) =>
    stream(wire.answer(count === 0 ? { calls: [{ ...listing, arguments: nested(20_000) }] } : said)),

  "usage of 1e15": counted(() => ({ input: 1e15, output: 10 })),
  "usage below zero": counted(() => ({ input: -5_000, output: 10 })),
  "usage that is a text": counted(() => ({ input: "NaN", output: "NaN" })),
  "usage of fractions": counted(() => ({ input: 1_000.5, output: 10 })),
  "usage of zero": counted(() => ({ input: 0, output: 0 })),
  "usage far above the request": counted((request) => ({ input: tokensOf(request) * 15, output: 10 })),
  "output far above the answer": counted(() => ({ input: 100, output: 900_000_000 })),
  "no usage": counted(() => undefined),

  "calls without end": called((count) => ({
    ...listing,
    id: `call_${count}`,
    arguments: `{"path":".","limit":${count + 1}}`,
  })),
  "the same call without end": called((count) => ({ ...listing, id: `call_${count}` })),

  "an empty answer": answers({}),
  "a blank answer": answers({ text: " \n" }),
  "thinking and nothing else": answers({ thinking: "Hm." }),

  "a refusal in new words": refuses(
    400,
    JSON.stringify({ error: { message: "The moon is in the wrong house.", type: "odd_error" } }),
    { "content-type": "application/json" },
  ),
  "an overflow in new words": refuses(
    400,
    JSON.stringify({ error: { message: "The prompt is greater than what the context window can fit." } }),
    { "content-type": "application/json" },
  ),
  "413 without a body": refuses(413),
  "429 without a body": refuses(429),
  "500 with a page": refuses(500, PAGE, HTML),
  "503 without a body": refuses(503),
  "a redirection": refuses(307, "", { location: "http://127.0.0.1:9/elsewhere" }),
  "retry-after of 1e9": refuses(429, "", { "retry-after": "1000000000" }),
  "retry-after below zero": refuses(429, "", { "retry-after": "-60" }),
  "retry-after in the past": refuses(429, "", { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }),
} satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof faults;

export interface MisbehavingServer extends LoopbackServer {
  /** From the next request on; undefined for a server that answers as it should. */
  misbehave(fault: FaultName | undefined): void;
}

/** Speaks Anthropic Messages, OpenAI Responses and Chat Completions on a port of its own, as badly as it is told to. */
export async function misbehavingServer(): Promise<MisbehavingServer> {
  let fault: FaultName | undefined;
  let count = 0;
  const server = await loopbackServer((request) => {
    const wire = wireOf(request.path);
    if (wire === undefined) return { status: 404 };
    if (fault === undefined) return stream(wire.answer({ text: "All is well." }));
    const reply: Fault = faults[fault];
    return reply({ wire, request, count: count++ });
  });
  return {
    ...server,
    misbehave: (next) => {
      fault = next;
      count = 0;
    },
  };
}

function wireOf(path: string): Wire | undefined {
  const ends: Readonly<Record<WireName, string>> = {
    "anthropic-messages": "/messages",
    "openai-responses": "/responses",
    "openai-chat": "/chat/completions",
  };
  const name = (Object.keys(ends) as WireName[]).find((each) => path.endsWith(ends[each]));
  return name && wires[name];
}
