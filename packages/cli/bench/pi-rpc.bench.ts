import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BenchTable, importFromPi, piVersion } from "@bonsai-agent/testkit";

/*
 * pi's own RPC client drives the command from its sources: each of its calls is made, and what comes back is held to what
 * its types promise. pi is installed from the registry, unless `BONSAI_BENCH_PEER` names a folder that has it.
 */
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

type Client = Record<string, (...given: unknown[]) => Promise<unknown>> & {
  onEvent(listener: (event: { type: string }) => void): () => void;
  handleLine(line: string): void;
};

/** A type as pi's declarations have it: a name of `typeof`, a list's only element, or an object's fields; `?` may be absent. */
type Shape = string | readonly [Shape] | { readonly [field: string]: Shape };

const model = {
  id: "string",
  name: "string",
  api: "string",
  provider: "string",
  baseUrl: "string",
  reasoning: "boolean",
  input: ["string"],
  cost: { input: "number", output: "number", cacheRead: "number", cacheWrite: "number" },
  contextWindow: "number",
  maxTokens: "number",
} as const;
const cancelled = { cancelled: "boolean" } as const;
const entries = {
  entries: [{ type: "string", id: "string", timestamp: "string" }],
  leafId: "string",
} as const;

/** In the order in which they are made. A call gets the client and what the ones before gave. */
const CALLS: readonly [
  name: string,
  shape: Shape,
  call: (client: Client, given: Given) => Promise<unknown>,
][] = [
  ["getState", state(), (client) => client.getState!()],
  ["getAvailableModels", [model], (client) => client.getAvailableModels!()],
  [
    "setModel",
    model,
    (client, { getState }) => {
      const { provider, id } = (getState as { model: { provider: string; id: string } }).model;
      return client.setModel!(provider, id);
    },
  ],
  ["cycleModel", "object?", (client) => client.cycleModel!()],
  ["setThinkingLevel", "undefined", (client) => client.setThinkingLevel!("off")],
  ["cycleThinkingLevel", "object?", (client) => client.cycleThinkingLevel!()],
  ["getAvailableThinkingLevels", ["string"], (client) => client.getAvailableThinkingLevels!()],
  ["setSteeringMode", "undefined", (client) => client.setSteeringMode!("all")],
  ["setFollowUpMode", "undefined", (client) => client.setFollowUpMode!("one-at-a-time")],
  ["setAutoCompaction", "undefined", (client) => client.setAutoCompaction!(true)],
  ["setAutoRetry", "undefined", (client) => client.setAutoRetry!(true)],
  ["abortRetry", "undefined", (client) => client.abortRetry!()],
  ["promptAndWait", [{ type: "string" }], (client) => client.promptAndWait!("hello")],
  [
    "prompt",
    "undefined",
    async (client) => {
      const idle = client.waitForIdle!();
      await client.prompt!("slow, please");
      return idle;
    },
  ],
  [
    "steer",
    "undefined",
    async (client) => {
      await client.prompt!("slow, please");
      return client.steer!("left");
    },
  ],
  ["followUp", "undefined", (client) => client.followUp!("and then")],
  ["clearQueue", { steering: ["string"], followUp: ["string"] }, (client) => client.clearQueue!()],
  ["abort", "undefined", (client) => client.abort!()],
  [
    "bash",
    { output: "string", exitCode: "number", cancelled: "boolean", truncated: "boolean" },
    (client) => client.bash!("echo one"),
  ],
  [
    "abortBash",
    { cancelled: "boolean", output: "string" },
    async (client) => {
      const running = client.bash!("sleep 20");
      await client.getState!();
      await client.abortBash!();
      return running;
    },
  ],
  ["getSessionStats", stats(), (client) => client.getSessionStats!()],
  ["getMessages", [{ role: "string" }], (client) => client.getMessages!()],
  ["getLastAssistantText", "string", (client) => client.getLastAssistantText!()],
  ["setSessionName", "undefined", (client) => client.setSessionName!("A name")],
  ["getCommands", "object", (client) => client.getCommands!()],
  ["getEntries", entries, (client) => client.getEntries!()],
  [
    "getEntries since",
    entries,
    (client, { getEntries }) => {
      const {
        entries: [first],
      } = getEntries as { entries: { id: string }[] };
      return client.getEntries!(first!.id);
    },
  ],
  [
    "getTree",
    { tree: [{ entry: { id: "string" }, children: "object" }], leafId: "string" },
    (client) => client.getTree!(),
  ],
  [
    "compact",
    compaction(),
    async (client) => {
      await client.promptAndWait!("lorem ipsum dolor ".repeat(9_000));
      return client.compact!("the ipsum");
    },
  ],
  [
    "exportHtml",
    { path: "string" },
    (client, { folder }) => client.exportHtml!(join(folder as string, "x.html")),
  ],
  ["getForkMessages", [{ entryId: "string", text: "string" }], (client) => client.getForkMessages!()],
  [
    "fork",
    { text: "string", ...cancelled },
    (client, { getForkMessages }) => {
      const [first] = getForkMessages as { entryId: string }[];
      return client.fork!(first!.entryId);
    },
  ],
  [
    "switchSession",
    cancelled,
    (client, { getState }) => client.switchSession!((getState as { sessionFile: string }).sessionFile),
  ],
  ["clone", cancelled, (client) => client.clone!()],
  ["newSession", cancelled, (client) => client.newSession!()],
];

type Given = Record<string, unknown>;

interface PiRpc {
  RpcClient: new (options: object) => object;
}

export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-pi-rpc-"));
  try {
    const { RpcClient } = await importFromPi<PiRpc>(folder, "modes/rpc/rpc-client.js");
    const client = new RpcClient(clientOptions(folder)) as unknown as Client;
    const refused = refusals(client);
    const events = new Map<string, number>();
    client.onEvent(({ type }) => events.set(type, (events.get(type) ?? 0) + 1));
    await client.start!();
    const given: Given = { folder };
    const rows: string[][] = [];
    for (const [name, shape, call] of CALLS) {
      const came = await outcome(name, shape, () => call(client, given), given);
      // Calls without data do not look whether they were refused.
      rows.push([name, refused.splice(0).join("; ") || came]);
    }
    rows.push(["an error", await errorOf(() => client.setModel!("nobody", "nothing"))]);
    await client.stop!();
    const good = rows.filter(([, result]) => result === "as promised").length;
    return {
      title: `pi ${piVersion}'s RPC client drives bonsai`,
      columns: ["call", "what came"],
      rows: [...rows, ["together", `${good} of ${rows.length} as promised`]],
      notes: [`Events: ${[...events].map(([type, count]) => `${type} ${count}`).join(", ")}.`],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The errors of responses, from now on. */
function refusals(client: Client): string[] {
  const refused: string[] = [];
  const handle = client.handleLine.bind(client);
  client.handleLine = (line) => {
    const { type, success, error } = JSON.parse(line);
    if (type === "response" && success === false) refused.push(`refused: ${error}`);
    handle(line);
  };
  return refused;
}

function clientOptions(folder: string): object {
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const each of [home, cwd]) mkdirSync(each);
  const scenario = join(folder, "play.json");
  writeFileSync(
    scenario,
    JSON.stringify({
      contextWindow: 100_000,
      turn: [{ text: "An answer.", delayMs: 500 }],
      atEnd: "repeat",
      summary: [],
    }),
  );
  return {
    cliPath: main,
    cwd,
    env: { BONSAI_HOME: home, NODE_OPTIONS: "--conditions=@bonsai-agent/source --no-warnings" },
    model: `scripted/${scenario}`,
  };
}

async function outcome(
  name: string,
  shape: Shape,
  call: () => Promise<unknown>,
  given: Given,
): Promise<string> {
  try {
    const result = await call();
    given[name] = result;
    const path = name === "exportHtml" ? (result as { path: string }).path : undefined;
    if (path !== undefined && !readFileSync(path, "utf8").startsWith("<!doctype html>")) return "no HTML";
    return mismatch(result, shape) ?? "as promised";
  } catch (error) {
    return `failed: ${(error as Error).message}`;
  }
}

async function errorOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "no error";
  } catch (error) {
    const { message } = error as Error;
    return message.includes("[object") ? `not readable: ${message}` : "as promised";
  }
}

/** What is not as the shape has it; undefined where all is. */
function mismatch(value: unknown, shape: Shape, path = "it"): string | undefined {
  if (typeof shape === "string") {
    const isOptional = shape.endsWith("?");
    if (isOptional && (value === undefined || value === null)) return undefined;
    const wanted = isOptional ? shape.slice(0, -1) : shape;
    return typeof value === wanted ? undefined : `${path} is ${JSON.stringify(value)}, not ${wanted}`;
  }
  if (typeof value !== "object" || value === null) return `${path} is ${JSON.stringify(value)}`;
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return `${path} is no list`;
    return value.map((each, at) => mismatch(each, shape[0] as Shape, `${path}[${at}]`)).find(Boolean);
  }
  return Object.entries(shape)
    .map(([field, inner]) => mismatch((value as Given)[field], inner, `${path}.${field}`))
    .find(Boolean);
}

function state(): Shape {
  return {
    model,
    thinkingLevel: "string",
    isStreaming: "boolean",
    isCompacting: "boolean",
    steeringMode: "string",
    followUpMode: "string",
    sessionFile: "string?",
    sessionId: "string",
    sessionName: "string?",
    autoCompactionEnabled: "boolean",
    messageCount: "number",
    pendingMessageCount: "number",
  };
}

function stats(): Shape {
  return {
    sessionFile: "string?",
    sessionId: "string",
    userMessages: "number",
    assistantMessages: "number",
    toolCalls: "number",
    toolResults: "number",
    totalMessages: "number",
    tokens: { input: "number", output: "number", cacheRead: "number", cacheWrite: "number", total: "number" },
    cost: "number",
    contextUsage: "object?",
  };
}

function compaction(): Shape {
  return {
    summary: "string",
    firstKeptEntryId: "string",
    tokensBefore: "number",
    estimatedTokensAfter: "number?",
  };
}
