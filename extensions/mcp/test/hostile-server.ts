/** A server that writes the protocol by hand, so that it can do everything wrong. As a program, it speaks stdio. */

export interface Message {
  id?: number;
  method: string;
  params?: {
    name?: string;
    cursor?: string;
    requestId?: number;
    arguments?: Record<string, unknown>;
    _meta?: { progressToken?: number };
  };
}

export interface Wire {
  send(message: object): unknown;
  /** Without a frame. */
  raw(text: string): unknown;
  /** Breaks off, as if it were killed. */
  die(): unknown;
}

/** A way to misbehave. */
export type Fault =
  | "mute"
  | "old"
  | "endless"
  | "loud"
  | "liar"
  | "fatal"
  | "restless"
  | "torrent"
  | "two-lists";

/** Rounds of three messages in a storm. */
export const STORM_ROUNDS = 500;

const object = { type: "object" };
const escapes = "\u001b]0;owned\u0007\u001b[2J";

let deep: unknown = {};
for (let level = 0; level < 2_000; level += 1) deep = { a: deep };

/** Tools that work, hang, end the server or flood its host. */
const deeds = ["fine", "hang", "drip", "late", "hurried", "die", "storm", "cancelled", "flood"].map(
  (name) => ({
    name,
    inputSchema: object,
  }),
);

/** Tools of the liar. */
const lies = [
  { name: "fine", description: `Fine.${escapes}`, inputSchema: object, title: `F${escapes}ine` },
  { name: "fine", description: "The same again.", inputSchema: object },
  { name: "", inputSchema: object },
  { inputSchema: object },
  "no tool",
  { name: "../../etc/passwd\n\u0000 x", description: "An odd name.", inputSchema: object },
  { name: "a b", inputSchema: object },
  { name: "a_b", inputSchema: object },
  { name: "n".repeat(200), inputSchema: object },
  { name: "N".repeat(9_999), inputSchema: object },
  { name: "text-schema", inputSchema: "object" },
  { name: "array-schema", inputSchema: { type: "array" } },
  { name: "large-schema", inputSchema: { type: "object", description: "x".repeat(1 << 20) } },
  { name: "deep-schema", inputSchema: { type: "object", properties: { deep } } },
  { name: "round-schema", inputSchema: { $ref: "#", type: "object" } },
  { name: "slow-schema", inputSchema: { type: "object", properties: { a: { pattern: "^(a+)+$" } } } },
  { name: "no-schema" },
  { name: "large-result", inputSchema: object },
  { name: "lines", inputSchema: object },
  { name: "odd-content", inputSchema: object },
  { name: "no-content", inputSchema: object },
  { name: "bad-image", inputSchema: object },
  { name: "null-result", inputSchema: object },
  {
    name: "untrue",
    inputSchema: object,
    outputSchema: { type: "object", properties: { s: { pattern: "(x+x+)+y" } }, required: ["n", "m"] },
  },
];

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const text = (text: string) => ({ content: [{ type: "text", text }] });

const results: Readonly<Record<string, unknown>> = {
  fine: text(`All is fine.${escapes}\u0000`),
  "large-result": text("0123456789\n".repeat(100_000)),
  lines: { content: Array.from({ length: 5_000 }, (_, at) => ({ type: "text", text: `line ${at}` })) },
  "odd-content": {
    content: [{ type: "hologram" }, null, 7, { type: "text", text: 7 }, { type: "resource" }],
  },
  "no-content": { content: "none" },
  "bad-image": {
    content: [
      { type: "image", mimeType: "image/jpeg", data: png },
      { type: "image", mimeType: "image/png", data: "bm8gaW1hZ2U=" },
      { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
      { type: "image" },
    ],
  },
  untrue: { content: [], structuredContent: { n: "one", s: `${"x".repeat(50)}` } },
};

const cancelled: unknown[] = [];
let lists = 0;

/** Answers one message, with the fault. */
export function misbehave(fault: Fault, message: Message, wire: Wire): unknown {
  const { id, method, params = {} } = message;
  const answer = (result: unknown) => wire.send({ jsonrpc: "2.0", id, result });
  if (method === "notifications/cancelled") cancelled.push(params.requestId);
  if (id === undefined || fault === "mute") return undefined;
  if (method === "initialize") {
    if (fault === "loud") wire.raw("Welcome to my server!\nLoading…\n");
    return answer({
      protocolVersion: fault === "old" ? "1999-12-31" : "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: fault, version: "0" },
    });
  }
  if (method === "tools/list") return list(fault, params.cursor, answer);
  if (method !== "tools/call")
    return wire.send({ jsonrpc: "2.0", id, error: { code: -32_601, message: "No." } });
  return call(message, wire, answer);
}

function list(fault: Fault, cursor: string | undefined, answer: (result: unknown) => unknown): unknown {
  lists += 1;
  switch (fault) {
    case "endless": {
      const page = Number(cursor ?? 0);
      const tools = Array.from({ length: 50 }, (_, at) => ({
        name: `t${page * 50 + at}`,
        inputSchema: object,
      }));
      return answer({ tools, nextCursor: String(page + 1) });
    }
    case "restless":
      return answer({ tools: [{ name: `v${lists}`, inputSchema: object }, ...deeds.slice(-4)] });
    case "two-lists":
      return answer({ tools: "none" });
    case "liar":
      return answer({ tools: lies });
    default:
      return answer({ tools: deeds });
  }
}

function call({ id, params = {} }: Message, wire: Wire, answer: (result: unknown) => unknown): unknown {
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  switch (params.name) {
    case "hang":
      return undefined;
    case "hurried": {
      const progressToken = params._meta?.progressToken;
      const progress = (progress: number) => {
        const notified = { method: "notifications/progress", params: { progressToken, progress } };
        return `${JSON.stringify({ jsonrpc: "2.0", ...notified })}\n`;
      };
      const result = JSON.stringify({ jsonrpc: "2.0", id, result: text("Done.") });
      return wire.raw(`${progress(1)}${progress(2)}${result}\n`);
    }
    case "drip": {
      const progressToken = params._meta?.progressToken;
      let progress = 0;
      return setInterval(() => {
        progress += 1;
        wire.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
      }, 5).unref();
    }
    case "late":
      return setTimeout(() => answer(text("Late.")), 300);
    case "die":
      return wire.die();
    case "flood":
      return wire.raw("x".repeat(33 << 20));
    case "cancelled":
      return answer(text(`cancelled: ${cancelled.length}`));
    case "storm":
      for (let at = 0; at < STORM_ROUNDS; at += 1) {
        wire.send(changed);
        wire.send({
          jsonrpc: "2.0",
          method: "notifications/progress",
          params: { progressToken: params._meta?.progressToken, progress: at, message: escapes },
        });
        wire.send({ jsonrpc: "2.0", id: 100_000 + at, result: {} });
      }
      return answer(text("The storm is over."));
    default:
      return answer(results[params.name ?? ""] ?? null);
  }
}

function speakStdio(fault: Fault): void {
  // The mute server does not end by itself, but with its parent.
  if (fault === "mute") process.on("SIGTERM", () => {});
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(), 1_000);
  const wire: Wire = {
    send: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
    raw: (raw) => void process.stdout.write(raw),
    die: () => process.kill(process.pid, "SIGKILL"),
  };
  if (fault === "torrent") {
    const pour = () => {
      process.stderr.write("x".repeat(1 << 16));
      // Without a pause, it takes the processor from the host.
      process.stdout.write("no message\n".repeat(50), () => setTimeout(pour, 20));
    };
    pour();
  }
  let rest = "";
  if (fault !== "mute") process.stdin.on("end", () => process.exit());
  process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop()!;
    for (const line of lines) misbehave(fault, JSON.parse(line) as Message, wire);
  });
}

if (process.argv[1] === import.meta.filename) speakStdio(process.argv[2] as Fault);
