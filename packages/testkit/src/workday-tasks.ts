/** One task of a generated working day, as its user and its code base would have it. */
export interface WorkdayTask {
  request: string;
  /** Said by the user in passing, somewhere in the task. */
  aside?: string;
  /** The file that the task changes, and its test. */
  file: string;
  test: string;
  /** What the changed line was and becomes. */
  before: string;
  after: string;
  /** The first attempt's failure, as the test runner words it. */
  failure: string;
  cause: string;
  decision: string;
}

export const WORKDAY_GOAL =
  "We are moving the order service from REST polling to an event stream this week. Read AGENTS.md and the docs folder first, then make a plan. Node 22, no new runtime dependencies, and never touch src/legacy: another team owns it.";

export const WORKDAY_PLAN = [
  "Plan:",
  "- [ ] money as integer cents everywhere",
  "- [ ] idempotent order events with a dedupe window",
  "- [ ] resume the stream after a restart",
  "- [ ] back-pressure between stream and database",
  "- [ ] metrics and a dashboard",
  "- [ ] switch polling off behind the flag ORDER_STREAM",
].join("\n");

export const WORKDAY_TASKS: readonly WorkdayTask[] = [
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
