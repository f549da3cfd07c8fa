import { Agent, agentSettings } from "@bonsai-agent/agent";
import { emptyUsage } from "@bonsai-agent/messages";
import { ModelClient } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import type { DraftAnswer, DraftRequest } from "@bonsai-agent/session";
import { expect, onTestFinished, test } from "vitest";
import { makeDrafts, sharedStoreOf } from "../src/index.ts";
import type { TestDatabase } from "./test-database.ts";

const model = {
  ...{ provider: "scripted", id: "actor", name: "Actor", api: "scripted" as const, baseUrl: "" },
  ...{ input: ["text" as const], reasoning: false, contextWindow: 20_000, maxOutputTokens: 2_000 },
};
const usage = { ...emptyUsage(), input: 700, output: 70, totalTokens: 770 };
const answer: DraftAnswer = { text: "made by a worker", stopReason: "stop", usage };
const request = (user: string): DraftRequest => ({
  ...{ model: "scripted/actor", kind: "history", maxSummaryTokens: 100 },
  prompt: { system: "\0 and \ud800", user },
});
const never = new AbortController().signal;
/** An owner waits for a worker a ninth of its lease. */
const PATIENT = { leaseMs: 18_000 };

/** The tests of drafts, on the server of the caller. */
export function testDrafts(database: () => TestDatabase): void {
  const rows = async (id: string) =>
    (await database().pool.query("select * from bonsai.drafts where session_id = $1", [id])).rows;
  const owned = async (name: string, options = PATIENT) => {
    const host = database().host(name, options);
    const session = await host.create({ cwd: "/drafts" });
    onTestFinished(async () => {
      session.close();
      await host.settled().catch(() => {});
    });
    return { host, session, drafts: sharedStoreOf(session)!.drafts };
  };
  const stored = (id: string) => expect.poll(() => rows(id), { interval: 10 }).toHaveLength(1);
  /** A worker that runs until the end of the test. Returns its requests. */
  const worker = (
    make: (request: DraftRequest, signal: AbortSignal) => Promise<DraftAnswer> = async () => answer,
    options: { leaseMs?: number; knows?: (name: string) => Promise<boolean> } = {},
  ) => {
    const stop = new AbortController();
    const made: DraftRequest[] = [];
    const errors: unknown[] = [];
    const ended = makeDrafts({
      ...{ pool: database().pool, concurrency: 2, signal: stop.signal, knows: async () => true },
      ...options,
      make: (draft) => {
        made.push(draft.request);
        return make(draft.request, draft.signal);
      },
      onError: (error) => errors.push(error),
    });
    onTestFinished(async () => {
      stop.abort();
      await ended;
      expect(errors).toEqual([]);
    });
    return made;
  };

  test("the owner commits the summary of a worker, counts its cost once and deletes its draft", async () => {
    const { host, session } = await owned("commits");
    const purposes: string[] = [];
    const provider = scriptedProvider(({ purpose }) => {
      purposes.push(purpose);
      return { text: "done" };
    });
    const agent = new Agent({
      ...{ session, model, tools: [], systemPrompt: "Work.", durability: "shared" as const },
      models: new ModelClient({ providers: { scripted: async () => provider } }),
      settings: agentSettings({
        titles: false,
        sessions: { summaries: "workers" },
        compaction: { background: false },
      }),
    });
    for (const size of [4_000, 8_000]) await agent.prompt("abc ".repeat(size));
    const compacting = agent.compact();
    await stored(session.id);
    const made = worker(async ({ prompt }) => {
      const headings = prompt.user.match(/^## .+$/gm)!;
      return { ...answer, text: headings.map((heading) => `${heading}\nremote`).join("\n") };
    });
    expect(await compacting).toMatchObject({ status: "compacted" });
    expect(made).toMatchObject([{ model: "scripted/actor", kind: "history" }]);
    expect(purposes).not.toContain("summary");
    const entries = JSON.stringify(session.entries().filter(({ type }) => type === "compaction"));
    expect(entries).toContain("remote");
    expect(entries.match(/"input":700/g)).toHaveLength(1);
    await agent.close();
    await host.settled();
    expect(await rows(session.id)).toEqual([]);
  });

  test("an owner without a worker for its model makes the summary itself, and withdraws the request", async () => {
    const { session, drafts } = await owned("alone", { leaseMs: 1_800 });
    const asked = drafts.ask(request("alone"), never);
    await stored(session.id);
    const made = worker(undefined, { knows: async () => false });
    expect(await asked).toBeUndefined();
    expect([made, await rows(session.id)]).toEqual([[], []]);
  });

  test("another worker makes the summary of a dead one", async () => {
    const { session, drafts } = await owned("survivor");
    const asked = drafts.ask(request("survivor"), never);
    await stored(session.id);
    // A worker took the request, and renews its lease no more.
    await database().pool.query(
      "update bonsai.drafts set attempt = 1, worker_until = clock_timestamp() + interval '50 ms' where session_id = $1",
      [session.id],
    );
    const made = worker();
    expect(await asked).toEqual(answer);
    expect(made).toEqual([request("survivor")]);
  });

  test("the next owner gets the summary that a worker made for a dead one, without another request", async () => {
    const { session, drafts } = await owned("dies");
    const asked = drafts.ask(request("inherited"), never);
    await stored(session.id);
    const made = worker();
    expect(await asked).toEqual(answer);
    await database().pool.query("update bonsai.sessions set lease_until = null where id = $1", [session.id]);
    const heir = database().host("heir", PATIENT);
    const inherited = await heir.open(session.id);
    expect(await sharedStoreOf(inherited)!.drafts.ask(request("inherited"), never)).toEqual(answer);
    expect(made).toHaveLength(1);
    // The dead owner wakes up: it cannot delete the draft, or ask.
    drafts.clear();
    expect(await drafts.ask(request("late"), never)).toBeUndefined();
    expect(await rows(session.id)).toHaveLength(1);
    inherited.close();
    await heir.settled();
  });

  test("the same request twice is made once", async () => {
    const { session, drafts } = await owned("twice");
    const both = [drafts.ask(request("twice"), never), drafts.ask(request("twice"), never)];
    await stored(session.id);
    const made = worker();
    expect(await Promise.all(both)).toEqual([answer, answer]);
    expect(made).toHaveLength(1);
  });

  test("a cancel withdraws the request, and its worker stops", async () => {
    const { session, drafts } = await owned("cancels");
    const cancel = new AbortController();
    const asked = drafts.ask(request("cancelled"), cancel.signal);
    await stored(session.id);
    const stopped = Promise.withResolvers<void>();
    const made = worker(
      (_request, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            stopped.resolve();
            reject(signal.reason);
          }),
        ),
      { leaseMs: 300 },
    );
    await expect.poll(() => made, { interval: 20 }).toHaveLength(1);
    cancel.abort();
    expect(await asked).toBeUndefined();
    await stopped.promise;
    expect(await rows(session.id)).toEqual([]);
  });

  test("a failure of the worker reaches the owner without its message, and its draft vanishes with the session", async () => {
    const { host, session, drafts } = await owned("fails");
    const asked = drafts.ask(request("fails"), never);
    await stored(session.id);
    worker(async () => {
      throw new Error("The key sk-proj-abcdefghijklmnopqrstuvwxyz is wrong.");
    });
    expect(await asked).toEqual({ text: "", stopReason: "error" });
    expect(JSON.stringify(await rows(session.id))).not.toContain("sk-proj");
    session.close();
    await host.settled();
    await host.delete(session.id);
    expect(await rows(session.id)).toEqual([]);
  });
}
