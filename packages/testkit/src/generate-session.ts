import { closeSync, fstatSync, openSync, writeFileSync } from "node:fs";
import { codeLine, logLine, madePath, proseLine, type Random, seededRandom } from "./made-text.ts";

export interface GenerateSessionOptions {
  /** The written file; an existing one is replaced. */
  file: string;
  /** Default 1. */
  seed?: number;
  /** Entries, the header not counted. */
  entries: number;
  /** Average bytes of a line. Default 2000, minimum about 450: an answer carries its usage. */
  averageBytes?: number;
  /** Probability that a turn starts from an earlier turn instead of the last one. Default 0.02. */
  branchiness?: number;
  /** Compactions, spread evenly. Default 0. */
  compactions?: number;
  /** Entries after the last compaction. Default 60. */
  tailEntries?: number;
  /** Probability that a turn is labelled. Default 0.02. */
  labels?: number;
  /** The session's id; default derived from the seed. */
  id?: string;
  cwd?: string;
}

export interface GeneratedSession {
  file: string;
  bytes: number;
  entries: number;
  leafId: string;
  branches: number;
  compactions: number;
  labels: number;
}

const START_MS = Date.UTC(2026, 0, 5, 9);
const FLUSH_CHARACTERS = 1 << 20;

/** Writes a session with the shape of a long coding session: turns of calls and results, branches, labels, compactions. */
export function generateSession(options: GenerateSessionOptions): GeneratedSession {
  const fd = openSync(options.file, "w", 0o600);
  try {
    return new SessionGenerator(options, fd).run();
  } finally {
    closeSync(fd);
  }
}

/** The start of a turn on the current path. */
interface Turn {
  firstId: string;
  parentId: string | null;
}

/** Owner of a generated file's growing state: the path walked so far and the bytes not yet written. */
class SessionGenerator {
  readonly #options: Required<GenerateSessionOptions>;
  readonly #fd: number;
  readonly #random: Random;
  readonly #pools: TextPools = textPools();
  #turns: Turn[] = [];
  #turnsAtCompaction = 0;
  #leafId: string | null = null;
  #count = 0;
  #characters = 0;
  #pending = "";
  #contextTokens = 3000;
  #result: GeneratedSession;

  constructor(options: GenerateSessionOptions, fd: number) {
    this.#options = {
      seed: 1,
      averageBytes: 2000,
      branchiness: 0.02,
      compactions: 0,
      tailEntries: 60,
      labels: 0.02,
      cwd: "/home/dev/shop",
      id: `00000000-0000-4000-8000-${(options.seed ?? 1).toString(16).padStart(12, "0")}`,
      ...options,
    };
    this.#fd = fd;
    this.#random = seededRandom(this.#options.seed);
    const { file } = options;
    this.#result = { file, bytes: 0, entries: 0, leafId: "", branches: 0, compactions: 0, labels: 0 };
  }

  run(): GeneratedSession {
    const { id, cwd, entries } = this.#options;
    const header = { type: "session", version: 3, id, timestamp: new Date(START_MS).toISOString(), cwd };
    this.#line(JSON.stringify(header));
    this.#entry("model_change", `"provider":"anthropic","modelId":"claude-sonnet-4-5"`);
    this.#entry("session_info", `"name":"Generated session ${this.#options.seed}"`);
    while (this.#count < entries) {
      if (this.#compactionDue()) this.#compact();
      else this.#turn();
    }
    this.#flush();
    this.#result.bytes = fstatSync(this.#fd).size;
    return { ...this.#result, entries: this.#count, leafId: this.#leafId ?? "" };
  }

  #compactionDue(): boolean {
    const { compactions, entries, tailEntries } = this.#options;
    const { compactions: done } = this.#result;
    if (done >= compactions) return false;
    return this.#count >= Math.floor(((entries - tailEntries) * (done + 1)) / compactions);
  }

  #compact(): void {
    const firstKept = this.#turns.at(-3) ?? this.#turns.at(-1);
    if (firstKept === undefined) {
      this.#turn();
      return;
    }
    const tokensBefore = this.#contextTokens;
    const summary = `## Goal\\n${this.#text("prose", 1500)}\\n## Progress\\n${this.#text("prose", 2500)}`;
    this.#entry(
      "compaction",
      `"summary":"${summary}","firstKeptEntryId":"${firstKept.firstId}","tokensBefore":${tokensBefore}`,
    );
    this.#result.compactions++;
    this.#turnsAtCompaction = this.#turns.length;
    this.#contextTokens = 12_000;
  }

  #turn(): void {
    if (this.#random.chance(this.#options.branchiness)) this.#goBack();
    const parentId = this.#leafId;
    const firstId = this.#message(
      `"role":"user","content":[{"type":"text","text":"${this.#text("prose", 160)}"}]`,
    );
    this.#turns.push({ firstId, parentId });
    for (let step = this.#random.int(5) + 1; step > 0 && !this.#full(); step--) this.#step();
    if (!this.#full()) this.#answer(`{"type":"text","text":"${this.#text("prose", 300)}"}`, "stop");
    if (this.#random.chance(this.#options.labels) && !this.#full()) this.#label(firstId);
  }

  /** One answer with its calls, and their results. */
  #step(): void {
    const calls = this.#random.chance(0.2) ? 2 : 1;
    const ids = Array.from({ length: calls }, (_, index) => `call_${this.#count}_${index}`);
    const blocks = ids.map((id) => this.#call(id));
    this.#answer(`{"type":"text","text":"${this.#text("prose", 80)}"},${blocks.join(",")}`, "toolUse");
    for (const id of ids) if (!this.#full()) this.#toolResult(id);
  }

  #call(id: string): string {
    const path = madePath(this.#random);
    if (this.#random.chance(0.5)) return callBlock(id, "bash", `{"command":"pnpm vitest run ${path}"}`);
    if (this.#random.chance(0.6)) return callBlock(id, "read", `{"path":"${path}"}`);
    const edit = `"oldText":"${this.#text("code", 100)}","newText":"${this.#text("code", 140)}"`;
    return callBlock(id, "edit", `{"path":"${path}",${edit}}`);
  }

  /** Results fill up the average, so that the file gets the wanted size. */
  #toolResult(callId: string): void {
    const lacking = this.#options.averageBytes * (this.#count + 3) - this.#characters;
    const bytes = Math.max(40, lacking * (0.3 + 1.2 * this.#random.next()) - 300);
    const pool = this.#random.chance(0.5) ? "code" : "log";
    const name = pool === "code" ? "read" : "bash";
    this.#contextTokens += Math.ceil(bytes / 4);
    this.#message(
      `"role":"toolResult","toolCallId":"${callId}","toolName":"${name}","content":[{"type":"text","text":"${this.#text(pool, bytes)}"}],"isError":${this.#random.chance(0.05)}`,
    );
  }

  #answer(blocks: string, stopReason: "stop" | "toolUse"): void {
    const output = 40 + this.#random.int(400);
    const cacheRead = this.#contextTokens;
    this.#contextTokens += output;
    const cost = `"cost":{"input":0.00003,"output":${output * 15e-6},"cacheRead":${cacheRead * 3e-7},"cacheWrite":0,"total":${0.00003 + output * 15e-6 + cacheRead * 3e-7}}`;
    const usage = `{"input":10,"output":${output},"cacheRead":${cacheRead},"cacheWrite":0,"totalTokens":${cacheRead + output + 10},${cost}}`;
    this.#message(
      `"role":"assistant","content":[${blocks}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":${usage},"stopReason":"${stopReason}"`,
    );
  }

  #label(targetId: string): void {
    this.#result.labels++;
    this.#entry("label", `"targetId":"${targetId}","label":"checkpoint ${this.#result.labels}"`);
  }

  /** Starts a branch at one of the last thirty turns, never before the last compaction that is to come. */
  #goBack(): void {
    const allCompacted = this.#result.compactions === this.#options.compactions;
    const earliest = Math.max(allCompacted ? this.#turnsAtCompaction : 0, this.#turns.length - 30);
    if (earliest >= this.#turns.length) return;
    const at = earliest + this.#random.int(this.#turns.length - earliest);
    this.#leafId = this.#turns[at]!.parentId;
    this.#turns.length = at;
    this.#result.branches++;
  }

  #text(pool: keyof TextPools, bytes: number): string {
    return this.#pools[pool].take(this.#random, bytes);
  }

  #full(): boolean {
    return this.#count >= this.#options.entries || this.#compactionDue();
  }

  #message(fields: string): string {
    const ms = START_MS + (this.#count + 1) * 4000;
    return this.#entry("message", `"message":{${fields},"timestamp":${ms}}`);
  }

  #entry(type: string, fields: string): string {
    this.#count++;
    const id = (Math.imul(this.#count, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
    const parent = this.#leafId === null ? "null" : `"${this.#leafId}"`;
    const timestamp = new Date(START_MS + this.#count * 4000).toISOString();
    this.#line(`{"type":"${type}","id":"${id}","parentId":${parent},"timestamp":"${timestamp}",${fields}}`);
    this.#leafId = id;
    return id;
  }

  #line(text: string): void {
    this.#characters += text.length + 1;
    this.#pending += `${text}\n`;
    if (this.#pending.length >= FLUSH_CHARACTERS) this.#flush();
  }

  #flush(): void {
    writeFileSync(this.#fd, this.#pending);
    this.#pending = "";
  }
}

function callBlock(id: string, name: string, argumentsJson: string): string {
  return `{"type":"toolCall","id":"${id}","name":"${name}","arguments":${argumentsJson}}`;
}

/**
 * Endless text of one kind, as the inside of a JSON string. It is made once and then only sliced at line
 * ends, so that a gigabyte of it costs seconds.
 */
interface TextPool {
  /** About `bytes` bytes of whole lines, escaped for JSON, without the quotes. */
  take(random: Random, bytes: number): string;
}

interface TextPools {
  prose: TextPool;
  code: TextPool;
  log: TextPool;
}

const POOL_BYTES = 1 << 20;
let pools: TextPools | undefined;

/** The pools of this process: the same in every process, whatever was taken before. */
function textPools(): TextPools {
  const random = seededRandom(20_260_105);
  pools ??= {
    prose: textPool(() => proseLine(random)),
    code: textPool(() => codeLine(random)),
    log: textPool(() => logLine(random)),
  };
  return pools;
}

function textPool(line: () => string): TextPool {
  const starts: number[] = [];
  let text = "";
  while (text.length < POOL_BYTES) {
    starts.push(text.length);
    text += `${JSON.stringify(line()).slice(1, -1)}\\n`;
  }
  const averageLineBytes = text.length / starts.length;
  const take = (random: Random, bytes: number): string => {
    const lines = Math.max(1, Math.min(starts.length - 1, Math.round(bytes / averageLineBytes)));
    const from = random.int(starts.length - lines);
    return text.slice(starts[from], starts[from + lines]);
  };
  return { take };
}
