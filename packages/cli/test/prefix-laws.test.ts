import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redoLatestUndo } from "@bonsai-agent/compaction";
import type { ExtensionAPI } from "@bonsai-agent/extension";
import { openTestSession, type TestSession } from "@bonsai-agent/extension/testing";
import type { CatalogueModel, ProviderCall } from "@bonsai-agent/models";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { hideableMessages, MASK_PLACEHOLDER, toggleHidden } from "@bonsai-agent/session/host";
import { fewRuns, PrefixCache } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { McpTools, type McpToolsOptions } from "../../../extensions/mcp/src/tools.ts";

const filler = (tokens: number) => "abc ".repeat(tokens);
const contextSize = () => ({ tokens: 0, estimatedTokens: 0 });

const noCounts = () => ({
  requests: 0,
  compactions: 0,
  switches: 0,
  serverChanges: 0,
  restarts: 0,
  warmRequests: 0,
});

/** A day with one session: the user's steps, and the servers that come and go meanwhile. */
class Day {
  readonly cache = new PrefixCache();
  readonly counts = noCounts();
  readonly #cwd = mkdtempSync(join(tmpdir(), "bonsai-day-"));
  readonly #servers: { name: string; state: string; config: object; lists: { tools: object[] } }[] = [];
  readonly #summaries = new Set<string>();
  #session: TestSession | undefined;
  #tools: McpTools | undefined;
  #asksToCompact = false;

  async begin(): Promise<void> {
    // A restart after midnight would change the date in the system prompt.
    vi.setSystemTime(Date.UTC(2026, 0, 1, 9));
    writeFileSync(join(this.#cwd, "AGENTS.md"), "Water the trees.");
    this.#changeServer(0);
    const prices = { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 1.25 };
    const model = { contextWindow: 20_000, maxOutputTokens: 2_000, reasoning: false };
    const session = createSession({ cwd: this.#cwd, file: join(this.#cwd, "session.jsonl") });
    await this.#open(session, { ...model, usdPerMillionTokens: prices });
  }

  async #open(session: Session, model: Partial<CatalogueModel>): Promise<void> {
    this.#session = await openTestSession({
      cwd: this.#cwd,
      session,
      extensions: [(bonsai: ExtensionAPI) => this.#mcp(bonsai), echo],
      model,
      settings: { cache: { keepWarm: { enabled: true, maxUsd: 10 } } },
      answers: (call) => this.#answer(call),
      replies: (call) => this.#answer(call),
    });
  }

  async end(): Promise<void> {
    await this.#session?.close();
    rmSync(this.#cwd, { recursive: true });
  }

  get #agent() {
    return this.#session!.agent;
  }

  /** A step without a prompt after it may be undone before any request. */
  async take([step, at]: Step): Promise<void> {
    await this.steps[step](at);
    if (at % 4 !== 3) await this.#session!.prompt(step === "talk" ? filler(3_000) : "Go on.");
  }

  readonly steps = {
    talk: async () => {},
    work: async () => {},
    compact: () =>
      this.#agent.compact({ useDigest: true, firstKeptEntryId: this.#agent.session.leafId ?? undefined }),
    askToCompact: async () => {
      this.#asksToCompact = true;
    },
    undo: async () => {
      const { compaction } = this.#agent.session.projection();
      if (compaction !== undefined) this.#agent.session.undoCompaction(compaction.id);
    },
    redo: () => redoLatestUndo({ session: this.#agent.session, contextSize }).catch(() => {}),
    editInstructions: async (at: number) => writeFileSync(join(this.#cwd, "AGENTS.md"), `Version ${at}.`),
    removeInstructions: async () => rmSync(join(this.#cwd, "AGENTS.md"), { force: true }),
    switchModel: () => {
      this.counts.switches += 1;
      const { model } = this.#agent;
      const isOther = model.id === "other";
      return this.#agent.setModel({
        ...model,
        ...{ id: isOther ? "test" : "other", contextWindow: isOther ? 20_000 : 30_000 },
      });
    },
    goBack: async (at: number) => {
      const { items } = this.#agent.session.projection();
      const item = items[at % Math.max(1, items.length)];
      if (item !== undefined) await this.#agent.navigate(item.entryId);
    },
    mask: async () => {
      const { session } = this.#agent;
      const { items } = session.projection();
      const result = items.find(({ message, edit }) => message.role === "toolResult" && edit === undefined);
      const replacement = { content: MASK_PLACEHOLDER };
      if (result !== undefined)
        session.append({ type: "context_edit", targetId: result.entryId, replacement });
    },
    hideByHand: async (at: number) => {
      const all = hideableMessages(this.#agent.session);
      const chosen = all[at % Math.max(1, all.length)];
      if (chosen !== undefined) toggleHidden(this.#agent.session, chosen.entry.id);
    },
    /** Long enough for one request that keeps the cache warm. */
    pause: () => vi.advanceTimersByTimeAsync(5 * 60_000),
    changeServer: async (at: number) => this.#changeServer(at),
    restart: async (at: number) => {
      const { model, session } = this.#agent;
      await this.#session!.close();
      await vi.advanceTimersByTimeAsync(1);
      this.cache.restart();
      this.counts.restarts += 1;
      const connected = this.#servers.map((server) => ({ ...server }));
      for (const server of this.#servers)
        Object.assign(server, { state: "connecting", lists: { tools: [] } });
      await this.#open(openSession(session.file!), model);
      // The servers connect in another order.
      for (const place of connected.keys()) {
        const other = (place + at) % connected.length;
        Object.assign(this.#servers[other]!, connected[other]);
        this.#tools!.update();
      }
    },
  } satisfies Record<string, (at: number) => Promise<unknown>>;

  /** A server appears, becomes ready, gets other tools, or vanishes. */
  #changeServer(at: number): void {
    const name = `server${at % 3}`;
    const tools = [0, 1].map((tool) => mcpTool(`tool${(at + tool) % 5}`));
    const index = this.#servers.findIndex((server) => server.name === name);
    this.counts.serverChanges += 1;
    if (index < 0) {
      const state = at % 2 === 0 ? "ready" : "connecting";
      this.#servers.push({ name, state, config: {}, lists: { tools: state === "ready" ? tools : [] } });
    } else if (at % 4 === 0) this.#servers.splice(index, 1);
    else this.#servers[index] = { name, state: "ready", config: {}, lists: { tools } };
    this.#tools?.update();
  }

  /** The tools of the MCP extension, with the servers of this day. */
  #mcp(bonsai: ExtensionAPI): void {
    const servers = { all: this.#servers, whenConnected: async () => {} };
    this.#tools = new McpTools({
      bonsai,
      servers: servers as unknown as McpToolsOptions["servers"],
      contextWindow: () => this.#session?.agent.model.contextWindow,
      onNotice: (message) => expect.fail(message),
    });
    this.#tools.follow();
    this.#tools.update();
  }

  /** The model works in every third answer, so that thresholds are crossed between tools. */
  #answer(call: ProviderCall) {
    const { messages, purpose } = call;
    this.cache.send(call, BEFORE_INSTRUCTIONS);
    const [first] = messages;
    if (first?.role === "compactionSummary") this.#summaries.add(first.summary);
    this.counts.compactions = this.#summaries.size;
    this.counts[purpose === "turn" ? "requests" : "warmRequests"] += 1;
    const read = JSON.stringify([call.systemPrompt, call.tools, messages]).length / 4;
    const usage = { input: 10, output: 10, cacheRead: Math.ceil(read), cacheWrite: 0 };
    const isAfterResult = messages.at(-1)?.role === "toolResult";
    if (this.#asksToCompact && !isAfterResult) {
      this.#asksToCompact = false;
      return { calls: [{ name: "context", arguments: { compact: true } }], usage };
    }
    const isWork = this.counts.requests % 3 === 0 && !isAfterResult;
    return isWork
      ? { calls: [{ name: "echo", arguments: { tokens: 2_000 } }], usage }
      : { text: "ok", usage };
  }
}

type StepName = keyof Day["steps"];
type Step = readonly [name: StepName, at: number];

/** In the JSON of a request. */
const BEFORE_INSTRUCTIONS = String.raw`\n\n# Instructions of the user`;

/** A tool of a server, as the MCP extension lists it. */
function mcpTool(name: string): object {
  const inputSchema = { type: "object", properties: { text: { type: "string" } } };
  const flags = { isReadOnly: true, isIdempotent: true };
  return { name, description: `Does ${name}.`, inputSchema, ...flags, tokens: 400 };
}

/** Returns as many tokens as asked. It is registered after the tools of the servers. */
function echo(bonsai: ExtensionAPI): void {
  bonsai.registerTool({
    ...{ name: "echo", label: "Echo", description: "Returns tokens." },
    parameters: { type: "object", properties: { tokens: { type: "number" } } },
    execute: async (_id, args) => ({
      content: [{ type: "text", text: filler((args as { tokens: number }).tokens) }],
      details: undefined,
    }),
  });
}

const stepNames: readonly StepName[] = [
  ...(["talk", "work", "compact", "askToCompact", "undo", "redo", "editInstructions"] as const),
  ...(["removeInstructions", "switchModel", "goBack", "mask", "hideByHand", "pause"] as const),
  ...(["changeServer", "changeServer", "restart", "restart"] as const),
];
const days = fc.array(fc.tuple(fc.constantFrom(...stepNames), fc.nat(99)), { minLength: 8, maxLength: 30 });
/** Two servers connect in another order after a restart, and an undo brings an older compaction back. */
const restartedDay: Step[] = [
  ["changeServer", 2],
  ["talk", 0],
  ["compact", 0],
  ["compact", 0],
  ["restart", 1],
  ["editInstructions", 0],
  ["undo", 0],
  ["talk", 0],
];

test("Invariant: between two compactions, the system prompt keeps its bytes, unless an extension changes it.", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const total = { days: 0, ...noCounts() };
  try {
    await fc.assert(
      fc.asyncProperty(days, async (steps) => {
        const day = new Day();
        try {
          await day.begin();
          for (const step of steps) await day.take(step);
          expect(day.cache.rewrittenBytes).toBe(0);
        } finally {
          await day.end();
        }
        total.days += 1;
        for (const [name, count] of Object.entries(day.counts))
          total[name as keyof typeof day.counts] += count;
      }),
      { ...fewRuns(5), examples: [[restartedDay]] },
    );
  } finally {
    vi.useRealTimers();
  }
  if (process.env.LAW_RUNS) process.stdout.write(`${JSON.stringify(total)}\n`);
  expect(total.compactions).toBeGreaterThan(3);
  expect(Math.min(total.switches, total.serverChanges, total.restarts)).toBeGreaterThan(3);
});

test("the cache of the law notices a system prompt that changes between two compactions", () => {
  const cache = new PrefixCache();
  const call = { model: { id: "m" }, tools: [], messages: [{ role: "user", content: "Hi", timestamp: 1 }] };
  for (const systemPrompt of ["One. Two.", "One. Three."]) cache.send({ ...call, systemPrompt }, "Two");
  expect(cache).toMatchObject({ rewrittenBytes: 7, breaks: 1 });
});
