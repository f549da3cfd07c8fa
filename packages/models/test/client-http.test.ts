import { execFileSync } from "node:child_process";
import { callsIn } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { finalEvent, ModelClient } from "../src/index.ts";
import { ask, wires } from "./client-over-http.ts";
import { turnOf } from "./openai-exchange.ts";

const everyWire = everyRow(wires);

test("an answer has its usage and its cost", () =>
  everyWire(async ([api, wire]) => {
    const { end, server } = await ask(api, [wire.text("yes")]);
    expect(end).toMatchObject({
      type: "done",
      message: { stopReason: "stop", usage: { input: 100, output: 20 } },
    });
    expect(end.message.usage.cost.total).toBeCloseTo(0.00014);
    expect(server.requests[0]!.path).toBe(wire.path);
  }));

test("an answer without counts is marked as uncounted", () =>
  everyWire(async ([api, wire]) => {
    const { chunks = [], ...reply } = wire.text("yes");
    const uncounted = chunks.map((chunk) => String(chunk).replaceAll('"usage"', '"other"'));
    const { end } = await ask(api, [{ ...reply, chunks: uncounted }]);
    expect(end.message.usage).toMatchObject({ isUncounted: true, cost: { total: 0 } });
  }));

test("429 with retry-after, then an answer", () =>
  everyWire(async ([api, wire]) => {
    const { end, waits } = await ask(api, [
      wire.error(429, "Slow down", { "retry-after": "7" }),
      wire.text("yes"),
    ]);
    expect(end).toMatchObject({ type: "done", message: { content: [{ type: "text", text: "yes" }] } });
    expect(waits).toEqual([7_000]);
  }));

test("529, then 500, then an answer", () =>
  everyWire(async ([api, wire]) => {
    const { end, waits, notices } = await ask(api, [
      wire.error(529, "Overloaded"),
      wire.error(500, "Oh"),
      wire.text("yes"),
    ]);
    expect(end.type).toBe("done");
    expect(waits).toEqual([1_000, 2_000]);
    expect(notices).toMatchObject([
      { type: "retry", failure: { status: 529 } },
      { failure: { status: 500 } },
    ]);
  }));

test("a stream that ends in the middle of a call, then a whole one", () =>
  everyWire(([api, wire]) =>
    everyRow(["cut", "close"] as const)(async (how) => {
      const { events, end } = await ask(api, [
        wire.call("c1", '{"path":"a', how),
        wire.call("c2", '{"path":"a.ts"}'),
      ]);
      expect(end.type).toBe("done");
      expect(callsIn(end.message)).toMatchObject([{ id: "c2", name: "read", arguments: { path: "a.ts" } }]);
      expect(events.filter(({ type }) => type === "start")).toHaveLength(2);
      const whole = events.filter((event) => event.type === "tool_call" && event.toolCall !== undefined);
      expect(whole).toHaveLength(1);
    }),
  ));

test("endless silence before the answer, then inside it, then an answer", () =>
  everyWire(async ([api, wire]) => {
    const silent = { headers: { "content-type": "text/event-stream" }, end: "hang" as const };
    const replies = [silent, wire.call("c1", '{"pa', "hang"), wire.text("yes")];
    const { end, notices } = await ask(api, replies, { silenceMs: 300 });
    expect(end).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    // A busy machine may be silent for longer.
    expect(notices.length).toBeGreaterThanOrEqual(2);
    expect(new Set(notices.map(({ type }) => type))).toEqual(new Set(["retry"]));
  }));

test("a connection that breaks before the answer begins, then an answer", () =>
  everyWire(async ([api, wire]) => {
    const { end, notices } = await ask(api, [{ end: "refuse" }, wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(notices).toMatchObject([{ type: "retry", attempt: 1 }]);
  }));

test("a refused key is an error without the key", () =>
  everyWire(async ([api, wire]) => {
    const { end } = await ask(api, [wire.error(401, "Incorrect API key provided: sk-proj-abcdefgh12345678")]);
    expect(end).toMatchObject({
      failure: { kind: "other", status: 401, message: "Incorrect API key provided: [redacted: API key]" },
    });
  }));

test("the error says so when no server listens at the address", async () => {
  const { model, server } = await ask("openai-chat", [wires[1]![1].text("yes")]);
  await server.close();
  const client = new ModelClient({ retry: { maxRetries: 0 } });
  const final = await finalEvent(client.stream(turnOf(model)));
  expect(final.message.errorMessage).toContain(
    `No server for lab answers at ${model.baseUrl}. Start the server`,
  );
});

test("an import loads neither SDK, and a user with only keys loads no part of the login", () => {
  const entry = new URL("../src/index.ts", import.meta.url).href;
  const program = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    const { KeyFile } = await import(${JSON.stringify(entry)});
    const keys = new KeyFile({ home: "/nonexistent", env: { LAB_KEY: "key" } });
    const key = await keys.freshKey({ provider: "lab", api: "openai-chat", baseUrl: "https://lab.example", apiKeyEnv: "LAB_KEY" });
    const sdks = seen.filter((url) => /node_modules\\/(openai|@anthropic-ai)\\//.test(url));
    const loaded = seen.map((url) => /oauth4webapi|(?<=models\\/src\\/keys\\/).*$/.exec(url)?.[0]).filter(Boolean);
    console.log(JSON.stringify(sdks), key, JSON.stringify(loaded.toSorted()));`;
  const options = [
    "--conditions=@bonsai-agent/source",
    "--input-type=module",
    "--no-warnings",
    "--eval",
    program,
  ];
  expect(execFileSync(process.execPath, options, { encoding: "utf8" }).trim()).toBe(
    '[] key ["auth-file.ts","keys.ts","login-registry.ts","provider-login.ts","secrets.ts"]',
  );
});
