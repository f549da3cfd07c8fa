import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { defaultRetryPolicy, RetryBudget } from "../src/exchange/attempts.ts";
import type { CatalogueModel } from "../src/model.ts";
import { finalEvent, ModelClient } from "../src/model-client.ts";
import type { ModelFailure, ModelNotice, StreamEvent } from "../src/model-request.ts";
import { ProviderError, type ProviderErrorOptions } from "../src/provider.ts";
import { turnOf } from "./openai-exchange.ts";

const failure: ModelFailure = {
  kind: "other",
  message: "Overloaded",
  provider: "lab",
  modelId: "m",
  retryable: true,
};
const budget = (random = 0, policy = {}) =>
  new RetryBudget({ ...defaultRetryPolicy, ...policy }, () => random);

describe("the wait", () => {
  test("doubles from a second on, up to a minute, five times", () => {
    const retries = budget(0, { maxRetries: 8 });
    const waits = Array.from({ length: 9 }, () => retries.next(failure)?.delayMs);
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, undefined]);
    const usual = budget();
    expect(Array.from({ length: 6 }, () => usual.next(failure)?.attempt)).toEqual([1, 2, 3, 4, 5, undefined]);
  });
  test("has up to a quarter of jitter", () => {
    expect(budget(0.5).next(failure)?.delayMs).toBe(1_125);
    expect(budget(0.999).next(failure)?.delayMs).toBe(1_250);
  });
  test("is what the provider asks for", () => {
    expect(budget(0.5).next({ ...failure, retryAfterMs: 7_000 })?.delayMs).toBe(7_000);
    expect(budget().next({ ...failure, retryAfterMs: 60_000 })?.delayMs).toBe(60_000);
    expect(budget().next({ ...failure, retryAfterMs: 0 })?.delayMs).toBe(1_000);
  });
  test("is not waited for where it is too long, and then named", () => {
    const long = { ...failure, retryAfterMs: 3_600_000 };
    const retries = budget();
    expect(retries.next(long)).toBeUndefined();
    expect(retries.finalFailure(long).message).toBe(
      "Overloaded. The provider asked to wait 1 h; the limit is 1 min (retry.maxDelayMs).",
    );
  });
  test("never comes after what is refused for good", () => {
    expect(budget().next({ ...failure, retryable: false })).toBeUndefined();
    expect(budget().finalFailure({ ...failure, retryable: false }).message).toBe("Overloaded");
  });
});

const model: CatalogueModel = {
  provider: "lab",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "http://127.0.0.1:8080/v1",
  input: ["text"],
  reasoning: false,
};

/** Refuses as often as it is told to, then says "yes". */
function stage(errors: (Partial<ProviderErrorOptions> | undefined)[], stopAfter = Number.POSITIVE_INFINITY) {
  let attempts = 0;
  const abort = new AbortController();
  const waits: number[] = [];
  const notices: ModelNotice[] = [];
  const client = new ModelClient({
    providers: {
      scripted: async () => ({
        async *stream(_call, answer) {
          const error = errors[attempts];
          attempts += 1;
          yield answer.text(error === undefined ? "yes" : "void");
          if (error !== undefined) throw new ProviderError({ kind: "refused", message: "no", ...error });
        },
      }),
    },
    random: () => 0,
    sleep: async (ms, signal) => {
      waits.push(ms);
      if (waits.length >= stopAfter) abort.abort();
      signal?.throwIfAborted();
    },
  });
  const stream = () =>
    client.stream(turnOf(model, { signal: abort.signal, onNotice: (notice) => void notices.push(notice) }));
  return { stream, ask: () => finalEvent(stream()), waits, notices, attempts: () => attempts };
}

describe("repeated are", () => {
  test("retries errors that may pass", () =>
    everyRow<[string, Partial<ProviderErrorOptions>]>([
      ["a rate limit", { status: 429 }],
      ["an overloaded server", { status: 529 }],
      ["a broken server", { status: 500 }],
      ["a gateway", { status: 503 }],
      ["a lost connection", { kind: "network" }],
      ["a cut stream", { kind: "cut" }],
      ["silence", { kind: "silence" }],
    ])(async ([, error]) => {
      const { stream, waits, notices } = stage([error, error, undefined]);
      const seen: StreamEvent[] = [];
      for await (const event of stream()) seen.push(event);
      expect(seen.map(({ type }) => type)).toEqual([
        "start",
        "text",
        "start",
        "text",
        "start",
        "text",
        "done",
      ]);
      expect(seen.at(-1)?.message.content).toEqual([{ type: "text", text: "yes" }]);
      expect(waits).toEqual([1_000, 2_000]);
      expect(notices).toMatchObject([
        { type: "retry", attempt: 1, maxAttempts: 5, delayMs: 1_000, failure: { provider: "lab" } },
        { type: "retry", attempt: 2, delayMs: 2_000 },
      ]);
    }));
});

describe("not repeated are", () => {
  test("does not retry errors that stay", () =>
    everyRow<[string, Partial<ProviderErrorOptions>]>([
      ["an overflow", { status: 400, message: "prompt is too long" }],
      [
        "an overflow that a broken server reports",
        { status: 500, message: "the request exceeds the available context size" },
      ],
      ["a damaged history", { status: 400, message: "each tool_use must have a single result" }],
      ["a wrong request", { status: 400 }],
      ["a wrong key", { status: 401 }],
      ["an unknown model", { status: 404 }],
    ])(async ([, error]) => {
      const { ask, attempts, waits } = stage([error, undefined]);
      expect((await ask()).type).toBe("error");
      expect([attempts(), waits.length]).toEqual([1, 0]);
    }));
});

test("after the last attempt the error says how many there were", async () => {
  const { ask, attempts } = stage(
    Array.from({ length: 9 }, () => ({ status: 500, message: "Internal error" })),
  );
  expect(await ask()).toMatchObject({
    failure: { message: "Internal error. Gave up after 6 attempts.", status: 500 },
  });
  expect(attempts()).toBe(6);
});

test("a wait that is too long ends the request with an error that names it", async () => {
  const { ask, attempts, waits } = stage([{ status: 429, message: "Slow down", retryAfterMs: 61_000 }]);
  const final = await ask();
  expect(final).toMatchObject({ failure: { kind: "rateLimit", retryAfterMs: 61_000 } });
  expect(final.message.errorMessage).toContain("wait 1 min 1 s");
  expect([attempts(), waits.length]).toEqual([1, 0]);
});

test("an abort during the wait ends at once, as an abort", async () => {
  const { ask, attempts } = stage([{ status: 500 }, { status: 500 }, undefined], 2);
  const final = await ask();
  expect(final).toMatchObject({ type: "error", message: { stopReason: "aborted" } });
  expect(final).not.toHaveProperty("failure");
  expect(attempts()).toBe(2);
});

test("a local server that does not run is named as that", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:8080"), { code: "ECONNREFUSED" });
  const cause = new TypeError("fetch failed", { cause: new AggregateError([refused]) });
  const { ask, notices } = stage([{ kind: "network", message: "fetch failed", cause }, undefined]);
  expect((await ask()).type).toBe("done");
  expect(notices).toMatchObject([
    {
      failure: {
        message:
          "No server for lab answers at http://127.0.0.1:8080/v1. Start the server, or correct the port.",
      },
    },
  ]);
});
