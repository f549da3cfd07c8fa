import { writeFileSync } from "node:fs";
import { codeLine, logLine, madePath, type Random, seededRandom } from "./made-text.ts";

/** One task of a generated working day, as its user and its code base would have it. */
interface WorkdayTask {
  request: string;
  /** Said by the user in passing, somewhere in the task. */
  aside?: string;
  /** The file that the task changes, and its test. */
  file: string;
  test: string;
  /** The changed line. */
  before: string;
  after: string;
  /** The first attempt's failure, as the test runner words it. */
  failure: string;
  cause: string;
  decision: string;
}

const WORKDAY_GOAL =
  "We are moving the order service from REST polling to an event stream this week. Read AGENTS.md and the docs folder first, then make a plan. Node 22, no new runtime dependencies, and never touch src/legacy: another team owns it.";

const WORKDAY_PLAN = [
  "Plan:",
  "- [ ] money as integer cents everywhere",
  "- [ ] idempotent order events with a dedupe window",
  "- [ ] resume the stream after a restart",
  "- [ ] back-pressure between stream and database",
  "- [ ] metrics and a dashboard",
  "- [ ] switch polling off behind the flag ORDER_STREAM",
].join("\n");

const WORKDAY_TASKS: readonly WorkdayTask[] = [
  {
    request: "Start with money: prices are floats in src/orders/price.ts and totals are off by a cent.",
    aside: "I prefer small commits with imperative messages, please.",
    file: "src/orders/price.ts",
    test: "test/price.test.ts",
    before: "const total = lines.reduce((sum, line) => sum + line.price * line.quantity, 0);",
    after: "const totalCents = lines.reduce((sum, line) => sum + line.priceCents * line.quantity, 0);",
    failure: "AssertionError: expected 1999.0000000000002 to be 1999",
    cause: "the discount was applied to the float before rounding",
    decision: "Money is integer cents from the parser on; formatting happens only in src/views/money.ts.",
  },
  {
    request: "Next: the same order event can arrive twice. Make handling idempotent.",
    aside: "The dedupe window must be 15 minutes, the payment provider retries for ten.",
    file: "src/events/dedupe.ts",
    test: "test/dedupe.test.ts",
    before: "if (seen.has(event.orderId)) return;",
    after: "if (seen.has(event.eventId)) return;",
    failure: 'AssertionError: expected "order-7: shipped" to be handled once, was handled 0 times',
    cause: "two events of one order share the order id; only the event id is unique",
    decision:
      "Deduplicate by event id with a 15 minute window, kept in memory and rebuilt from the last offsets.",
  },
  {
    request: "Now the resume: after a deploy we lose everything that came in meanwhile.",
    file: "src/events/cursor.ts",
    test: "test/cursor.test.ts",
    before: 'await writeFile(path, String(offset), "utf8");',
    after: "await writeFile(temp, String(offset)); await rename(temp, path);",
    failure: "Error: ENOENT: no such file or directory, rename '/var/lib/orders/cursor.tmp'",
    cause: "the folder is made on the first save only, and the rename ran before it",
    decision: "The cursor is saved to a temporary file and renamed, at most once a second.",
  },
  {
    request:
      "The database falls behind on Mondays (約三万件 in ten minutes). Add back-pressure between stream and database.",
    aside: "Don't use an unbounded queue anywhere, that is how we went down in March.",
    file: "src/events/pump.ts",
    test: "test/pump.test.ts",
    before: "stream.on('data', (event) => queue.push(event));",
    after: "for await (const event of stream) await pump.accept(event);",
    failure: "Error: Test timed out in 5000ms: pump > stops reading while 64 writes are open",
    cause: "accept() resolved before a slot was free",
    decision:
      "At most 64 writes are open at a time; the stream is read with for await, so it waits by itself.",
  },
  {
    request: "Ops wants to see lag. Expose metrics on /metrics in the Prometheus text format.",
    file: "src/http/metrics.ts",
    test: "test/metrics.test.ts",
    before: "response.end(JSON.stringify(stats));",
    after: "response.end(renderMetrics(stats));",
    failure: 'AssertionError: expected "orders_lag_seconds NaN" to match /orders_lag_seconds \\d+/',
    cause: "lag was computed before the first event had arrived",
    decision: "orders_lag_seconds is 0 until the first event; no client library, the format is ten lines.",
  },
  {
    request:
      "Actually make the dedupe window 30 minutes, the provider changed its retries. And it must be a setting: ORDER_DEDUPE_MINUTES.",
    file: "src/settings.ts",
    test: "test/settings.test.ts",
    before: "dedupeMinutes: 15,",
    after:
      'dedupeMinutes: wholeNumber(env.ORDER_DEDUPE_MINUTES, { fallback: 30, from: "ORDER_DEDUPE_MINUTES" }),',
    failure: 'Error: ORDER_DEDUPE_MINUTES must be a whole number, got ""',
    cause: "an empty variable counts as unset in our deployment",
    decision:
      "The dedupe window is 30 minutes by default and comes from ORDER_DEDUPE_MINUTES; empty means unset.",
  },
  {
    request:
      "A customer in Zürich got a confirmation with “MÃ¼ller” in it. Find out where the encoding breaks.",
    file: "src/mail/render.ts",
    test: "test/mail.test.ts",
    before: 'const body = Buffer.from(html, "latin1").toString("utf8");',
    after: "const body = html;",
    failure: 'AssertionError: expected "Grüezi MÃ¼ller" to be "Grüezi Müller"',
    cause: "the template was decoded twice, once as latin1",
    decision: "Text is decoded once, where bytes enter the program.",
  },
  {
    request: "Review finding: the webhook accepts unsigned requests in staging. Close that.",
    aside: "The signing secret is in 1Password under orders/webhook, never write it into a file.",
    file: "src/http/webhook.ts",
    test: "test/webhook.test.ts",
    before: "if (signature === expected) return next();",
    after: "if (timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return next();",
    failure: "RangeError [ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH]: Input buffers must have the same byte length",
    cause: "timingSafeEqual throws on unequal lengths",
    decision: "Lengths are compared first, then timingSafeEqual; staging has no exception any more.",
  },
  {
    request: "Now switch polling off behind ORDER_STREAM=1, default off for one release.",
    file: "src/main.ts",
    test: "test/main.test.ts",
    before: "startPolling(settings);",
    after: "if (settings.orderStream) await startStream(settings); else startPolling(settings);",
    failure: "AssertionError: expected polling to be stopped, 1 timer is still active",
    cause: "the poller's interval was never unref'ed or cleared at shutdown",
    decision: "ORDER_STREAM=1 selects the stream; polling stays the default until 4.2.0.",
  },
  {
    request:
      "Last thing today: the smoke test in CI is red since the flag went in. Get it green and write the changelog line for 4.1.0.",
    file: "scripts/smoke.ts",
    test: "test/smoke.test.ts",
    before: 'const base = "http://localhost:8080";',
    after: 'const base = process.env.SMOKE_URL ?? "http://127.0.0.1:8080";',
    failure: "FetchError: connect ECONNREFUSED ::1:8080",
    cause: "localhost resolves to ::1 first in the new image, the server listens on 127.0.0.1 only",
    decision: "The smoke test talks to 127.0.0.1 unless SMOKE_URL says otherwise.",
  },
];

export interface GenerateWorkdayOptions {
  /** The written file; an existing one is replaced. */
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
