import { writeFileSync } from "node:fs";
import { codeLine, logLine, madePath } from "./made-text.ts";
import { type Random, seededRandom } from "./random.ts";
import { WORKDAY_GOAL, WORKDAY_PLAN, WORKDAY_TASKS, type WorkdayTask } from "./workday-tasks.ts";

export interface GenerateWorkdayOptions {
  /** Where to write; an existing file is replaced. */
  file: string;
  seed: number;
  /** About how many entries, at least 200. */
  entries: number;
}

const START_MS = Date.UTC(2026, 0, 5, 8, 30);

/**
 * Writes a working day of a coding agent with a story to it: a goal, constraints and preferences said in
 * passing, a plan, reads, edits, tests that fail and are mended, decisions of which one is changed later,
 * an attempt that is left on a branch, and a last task that is still open.
 */
export function generateWorkday(options: GenerateWorkdayOptions): void {
  writeFileSync(options.file, new Workday(options).run(), { mode: 0o600 });
}

class Workday {
  readonly #random: Random;
  readonly #entriesPerTask: number;
  #lines: string[] = [];
  #leafId: string | null = null;
  #contextCharacters = 12_000;

  constructor(options: GenerateWorkdayOptions) {
    this.#random = seededRandom(options.seed);
    this.#entriesPerTask = Math.floor((options.entries - 20) / WORKDAY_TASKS.length);
  }

  run(): string {
    const timestamp = new Date(START_MS).toISOString();
    const id = "5e551011-0000-4000-8000-000000000001";
    this.#lines.push(
      JSON.stringify({ type: "session", version: 3, id, timestamp, cwd: "/home/dev/order-service" }),
    );
    this.#entry({ type: "model_change", provider: "anthropic", modelId: "claude-sonnet-4-5" });
    this.#entry({ type: "session_info", name: "Orders: from polling to a stream" });
    this.#opening();
    WORKDAY_TASKS.forEach((task, index) => {
      this.#task(task, index === WORKDAY_TASKS.length - 1);
      if (index === 3) this.#leftAttempt();
    });
    return this.#lines.join("\n").concat("\n");
  }

  #opening(): void {
    this.#user(WORKDAY_GOAL);
    this.#call("read", { path: "AGENTS.md" }, this.#text(codeLine, 40));
    this.#call(
      "bash",
      { command: "ls docs src test && git log --oneline | head -20" },
      this.#text(logLine, 30),
    );
    this.#answer(`I have read the rules and the layout. ${WORKDAY_PLAN}`);
  }

  #task(task: WorkdayTask, open: boolean): void {
    const last = this.#lines.length + this.#entriesPerTask;
    const requestId = this.#user(task.request);
    this.#call("read", { path: task.file }, this.#text(codeLine, 60 + this.#random.int(60), task.before));
    while (this.#lines.length < last - 14) this.#explore();
    this.#edit(task, this.#random.chance(0.5) ? `${task.after} // first attempt` : task.after);
    this.#runTest(task, task.failure);
    if (task.aside !== undefined) this.#user(task.aside);
    if (open) return;
    this.#call("read", { path: task.test }, this.#text(codeLine, 50));
    this.#edit(task, task.after);
    this.#runTest(task);
    this.#call("bash", { command: `git commit -am "Mend ${task.file}"` }, "[main 3f2c1ab] 2 files changed");
    this.#answer(`Done: ${task.cause}. ${task.decision}`);
    if (this.#random.chance(0.4))
      this.#entry({ type: "label", targetId: requestId, label: task.file.replace(/^.*\//, "") });
  }

  /** A branch that is tried, given up, and left for the position before it. */
  #leftAttempt(): void {
    const fork = this.#leafId;
    this.#user("Could we do the back-pressure with worker threads instead? Try it.");
    this.#explore();
    this.#call("write", { path: "src/events/worker.ts", content: this.#text(codeLine, 20) }, "Wrote 1.2 KB");
    this.#answer(
      "It works, but copying events between threads costs more than it saves: 41 ms against 12 ms.",
    );
    this.#leafId = fork;
    this.#user("Leave the worker threads, we stay with the pump. Go on with the plan.");
    this.#answer("Then src/events/pump.ts stays as it is.");
  }

  #explore(): void {
    const path = madePath(this.#random);
    if (this.#random.chance(0.5))
      this.#call("read", { path }, this.#text(codeLine, 20 + this.#random.int(80)));
    else
      this.#call(
        "bash",
        { command: `rg -n "orderId" ${path}` },
        this.#text(logLine, 5 + this.#random.int(40)),
      );
  }

  #edit(task: WorkdayTask, newText: string): void {
    const edit = { path: task.file, oldText: task.before, newText };
    this.#call("edit", edit, `Successfully replaced 1 block in ${task.file}.`);
  }

  #runTest(task: WorkdayTask, failure?: string): void {
    const output =
      failure === undefined
        ? ` ✓ ${task.test} (${3 + this.#random.int(20)} tests)\n Test Files  1 passed (1)`
        : `${this.#text(logLine, 12)}\n FAIL  ${task.test}\n${failure}\n    at ${task.file}:${this.#random.int(200)}:7\n Test Files  1 failed (1)\n\nCommand exited with code 1`;
    this.#call("bash", { command: `pnpm vitest run ${task.test}` }, output, failure !== undefined);
  }

  #text(line: (random: Random) => string, lines: number, first?: string): string {
    const made = Array.from({ length: lines }, () => line(this.#random));
    return [...(first === undefined ? [] : [first]), ...made].join("\n");
  }

  #call(name: string, args: Record<string, unknown>, output: string, isError = false): void {
    const id = `call_${this.#lines.length}`;
    this.#assistant([{ type: "toolCall", id, name, arguments: args }], "toolUse");
    const content = [{ type: "text", text: output }];
    this.#message({ role: "toolResult", toolCallId: id, toolName: name, content, isError });
  }

  #user(text: string): string {
    return this.#message({ role: "user", content: [{ type: "text", text }] });
  }

  #answer(text: string): void {
    this.#assistant([{ type: "text", text }], "stop");
  }

  #assistant(content: object[], stopReason: "stop" | "toolUse"): void {
    const [output, cacheRead] = [60 + this.#random.int(300), Math.ceil(this.#contextCharacters / 3.4)];
    const price = { input: 0, output: output * 15e-6, cacheRead: cacheRead * 3e-7, cacheWrite: 0 };
    const cost = { ...price, total: price.output + price.cacheRead };
    const usage = { input: 4, output, cacheRead, cacheWrite: 0, totalTokens: cacheRead + output + 4, cost };
    const model = { api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5" };
    this.#message({ role: "assistant", content, ...model, usage, stopReason });
  }

  #message(fields: object): string {
    this.#contextCharacters += JSON.stringify(fields).length;
    return this.#entry({ type: "message", message: { ...fields, timestamp: this.#clockMs() } });
  }

  #clockMs(): number {
    return START_MS + this.#lines.length * 41_000;
  }

  #entry(fields: { type: string; [name: string]: unknown }): string {
    const { type, ...rest } = fields;
    const id = (Math.imul(this.#lines.length, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
    const timestamp = new Date(this.#clockMs()).toISOString();
    this.#lines.push(JSON.stringify({ type, id, parentId: this.#leafId, timestamp, ...rest }));
    this.#leafId = id;
    return id;
  }
}
