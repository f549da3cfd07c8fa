import { Agent, agentSettings } from "@bonsai-agent/agent";
import { emptyUsage } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import { ModelClient } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import type { DraftAnswer, DraftRequest } from "@bonsai-agent/session";
import { expect, onTestFinished, test } from "vitest";
import { makeDrafts, sharedStoreOf } from "../src/index.ts";
import { sessionJobs } from "../src/jobs.ts";
import { type TestDatabase, userMessage } from "./test-database.ts";

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
    await session.durable();
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
    options: Partial<Parameters<typeof makeDrafts>[0]> = {},
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

  test("a worker asks again for the key of an unknown model, after four leases", async () => {
    const { drafts } = await owned("unknown");
    let asked = 0;
    worker(undefined, {
      leaseMs: 250,
      knows: async (name) => {
        if (name !== "scripted/late") return false;
        asked += 1;
        return asked > 1;
      },
    });
    const late = { ...request("late key"), model: "scripted/late" };
    expect(await drafts.ask(late, never)).toEqual(answer);
    expect(asked).toBe(2);
  });

  test("one of two workers makes a request that both found, also if it takes longer than a lease", async () => {
    const { drafts } = await owned("both");
    const both = Promise.withResolvers<void>();
    let found = 0;
    const knows = async () => {
      found += 1;
      if (found === 2) both.resolve();
      await both.promise;
      return true;
    };
    const slow = async () => {
      await sleep(1_800);
      return answer;
    };
    const made = [worker(slow, { knows, leaseMs: 1_000 }), worker(slow, { knows, leaseMs: 1_000 })];
    expect(await drafts.ask(request("both"), never)).toEqual(answer);
    expect(made.flat()).toHaveLength(1);
  });

  test("a worker that lost a request stops, and its answer is not stored", async () => {
    const { session, drafts } = await owned("loses");
    const cancel = new AbortController();
    const asked = drafts.ask(request("lost"), cancel.signal);
    const events: string[] = [];
    const made = worker(
      async (_request, signal) => {
        await sleep(60_000, signal);
        return answer;
      },
      { leaseMs: 500, onDraft: (_draft, event) => events.push(event) },
    );
    await expect.poll(() => made, { interval: 20 }).toHaveLength(1);
    await database().pool.query(
      "update bonsai.drafts set attempt = 2, worker_until = clock_timestamp() + interval '1 minute' where session_id = $1",
      [session.id],
    );
    await expect.poll(() => events, { timeout: 5_000 }).toEqual(["started", "failed"]);
    expect(await rows(session.id)).toMatchObject([{ answer: null }]);
    cancel.abort();
    await asked;
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

  test("a host that lost its session stops waiting, and cannot withdraw the requests of the next host", async () => {
    const { session, drafts } = await owned("loser");
    const cancel = new AbortController();
    const asked = [drafts.ask(request("one"), cancel.signal), drafts.ask(request("two"), never)];
    await expect.poll(() => rows(session.id), { interval: 10 }).toHaveLength(2);
    await database().pool.query("update bonsai.sessions set lease_until = null where id = $1", [session.id]);
    const heir = database().host("winner", PATIENT);
    const inherited = await heir.open(session.id);
    const stop = new AbortController();
    const askedAgain = ["one", "two"].map((each) =>
      sharedStoreOf(inherited)!.drafts.ask(request(each), stop.signal),
    );
    const fences = async () => (await rows(session.id)).map(({ fence }) => fence);
    await expect.poll(fences, { interval: 10 }).toEqual(["2", "2"]);
    cancel.abort();
    expect(await Promise.all(asked)).toEqual([undefined, undefined]);
    expect(await fences()).toEqual(["2", "2"]);
    stop.abort();
    await Promise.all(askedAgain);
    inherited.close();
    await heir.settled();
  });

  test("a host that learns of the loss of its session leaves its request to the next host", async () => {
    const { session, drafts } = await owned("learns");
    const stop = new AbortController();
    const asked = drafts.ask(request("left"), stop.signal);
    await stored(session.id);
    await database().pool.query("update bonsai.sessions set fence = fence + 1 where id = $1", [session.id]);
    session.append(userMessage("late"));
    await expect(session.durable()).rejects.toMatchObject({ code: "session_lease_lost" });
    stop.abort();
    await asked;
    expect(await rows(session.id)).toHaveLength(1);
  });

  test("a worker that stops in the middle of its job leaves the request to the next worker", async () => {
    const { pool } = database();
    const sessions = database().host("job");
    const session = await sessions.create({ cwd: "/drafts" });
    session.close();
    await sessions.settled();
    const jobs = sessionJobs({ pool, sessions });
    await jobs.init();
    await jobs.enqueue({ sessionId: session.id, prompt: "Compact" });
    await jobs.work({
      concurrency: 1,
      run: async (_job, { session: opened, signal }) => {
        await sharedStoreOf(opened)!.drafts.ask(request("job"), signal);
        throw signal.reason;
      },
    });
    await expect.poll(() => rows(session.id), { timeout: 10_000 }).toHaveLength(1);
    await jobs.stop();
    expect(await rows(session.id)).toHaveLength(1);
  });

  test("the request of a host that must stop stays for the next host", async () => {
    const { host, session, drafts } = await owned("stops");
    const stop = new AbortController();
    const asked = drafts.ask(request("stays"), stop.signal);
    await stored(session.id);
    drafts.leave();
    stop.abort();
    expect(await asked).toBeUndefined();
    drafts.clear();
    session.close();
    await host.settled();
    expect(await rows(session.id)).toHaveLength(1);
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
