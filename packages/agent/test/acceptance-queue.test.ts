import type { Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import {
  calls,
  done,
  filledAgent,
  filler,
  overflow,
  recordEvents,
  type ScriptedAgentOptions,
  sentText,
  summary,
} from "./scripted-agent.ts";

async function filled(options: Partial<ScriptedAgentOptions> = {}) {
  const run = await filledAgent(options);
  return { ...run, bytes: () => Buffer.from(stored(run.session)) };
}

type Run = Awaited<ReturnType<typeof filled>>;

function stored({ store }: Session): Buffer {
  const bytes = Buffer.alloc(store.size());
  store.read(bytes, 0);
  return bytes;
}

const userTexts = ({ session }: Run) =>
  session
    .path()
    .flatMap((entry) =>
      entry.type === "message" && entry.message.role === "user" ? [entry.message.content] : [],
    )
    .slice(2);

/** Does something as soon as the summariser is asked, while the compaction is under way. */
function duringSummary(run: Run, act: () => void): void {
  const off = run.lifecycle.on("session_before_compact", () => {
    off();
    act();
  });
}

test("a manual compaction that is cancelled leaves the file as it was, no error, the agent idle", async () => {
  const run = await filled();
  const before = run.bytes();
  duringSummary(run, () => run.agent.cancelCompaction());
  const outcome = await run.agent.compact();
  expect(outcome.status).toBe("cancelled");
  expect(run.bytes().equals(before)).toBe(true);
  expect(run.notices).toEqual([]);
  expect(run.agent.isBusy).toBe(false);
});

test("a text queued during a cancelled compaction is still sent", async () => {
  const run = await filled();
  let queued: Promise<unknown> | undefined;
  duringSummary(run, () => {
    queued = run.agent.prompt("are you there?");
    run.agent.cancelCompaction();
  });
  expect((await run.agent.compact()).status).toBe("cancelled");
  expect(await queued).toMatchObject({ status: "done" });
  expect(userTexts(run)).toEqual(["are you there?"]);
});

test("the file is byte-identical when a compaction by threshold is cancelled, and the task goes on without another try", async () => {
  const run = await filled({
    turn: [calls({ tokens: 4_000 }), calls({ tokens: 100 }), calls({ tokens: 100 }), done],
  });
  const sizes: number[] = [];
  let attempts = 0;
  run.lifecycle.on("auto_compaction_start", () => {
    attempts += 1;
  });
  run.lifecycle.on(
    "auto_compaction_end",
    ({ aborted }) => void sizes.push(run.session.store.size(), Number(aborted)),
  );
  let before = 0;
  duringSummary(run, () => {
    before = run.session.store.size();
    run.agent.cancelCompaction();
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(sizes).toEqual([before, 1]);
  expect(attempts).toBe(1);
  expect(run.notices).toEqual([]);
  expect(run.turns).toHaveLength(6);
});

test("cancelling the recovery from an overflow ends the run without an error", async () => {
  const run = await filled({ turn: [overflow] });
  duringSummary(run, () => run.agent.cancelCompaction());
  const result = await run.agent.prompt("go");
  expect(result.status).toBe("aborted");
  expect(result.error).toBeUndefined();
  expect(run.agent.isBusy).toBe(false);
  expect(run.session.projection().compaction).toBeUndefined();
});

test("after a cancelled recovery, queued text is still sent", async () => {
  const run = await filled({ turn: [overflow, done] });
  duringSummary(run, () => {
    void run.agent.prompt("something smaller", { behavior: "followUp" });
    run.agent.cancelCompaction();
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(userTexts(run)).toEqual(["go", "something smaller"]);
});

test("during a manual compaction the command is refused or runs at once, the first text becomes the prompt, the second steers it", async () => {
  const run = await filled({ turn: [calls(), done, done] });
  const names = recordEvents(run.lifecycle);
  const waiting: Promise<unknown>[] = [];
  let model = "";
  duringSummary(run, () => {
    waiting.push(run.agent.prompt("first"), run.agent.prompt("second"));
    void run.agent.setModel({ ...run.agent.model, id: "other" });
    model = run.agent.model.id;
    waiting.push(expect(run.agent.compact()).rejects.toMatchObject({ code: "agent_busy" }));
    waiting.push(expect(run.agent.navigate("x")).rejects.toMatchObject({ code: "agent_busy" }));
  });
  expect((await run.agent.compact()).status).toBe("compacted");
  const [first, second] = await Promise.all(waiting);
  expect(first).toBe(second);
  expect(first).toMatchObject({ status: "done" });
  expect(model).toBe("other");
  expect(userTexts(run)).toEqual(["first", "second"]);
  // One run: the second text went in before the request behind the tool.
  expect(names.filter((name) => name === "agent_start")).toHaveLength(1);
  expect(run.turns.slice(2).map((turn) => sentText(turn).includes("second"))).toEqual([false, true]);
});

test("after an overflow both texts are queued behind the retry", async () => {
  const run = await filled({ turn: [overflow, done, done, done] });
  const waiting: Promise<unknown>[] = [];
  duringSummary(run, () => {
    for (const text of ["first", "second"]) waiting.push(run.agent.prompt(text, { behavior: "steer" }));
  });
  const result = await run.agent.prompt("go");
  expect(await Promise.all(waiting)).toEqual([result, result]);
  const has = (text: string) => run.turns.slice(3).map((turn) => sentText(turn).includes(text));
  expect(has("first")).toEqual([false, true, true]);
  expect(has("second")).toEqual([false, false, true]);
});

test("a compaction runs in order: both handlers before it, the save, both handlers after it, the end", async () => {
  const run = await filled();
  const seen: string[] = [];
  for (const source of ["1", "2"]) {
    run.lifecycle.on("session_before_compact", () => void seen.push(`before ${source}`), { source });
    run.lifecycle.on(
      "session_compact",
      ({ compactionEntry }) => {
        seen.push(
          `${run.session.entry(compactionEntry.id) === undefined ? "unsaved" : "saved"}, after ${source}`,
        );
      },
      { source },
    );
  }
  run.lifecycle.on("auto_compaction_end", ({ outcome }) => void seen.push(outcome.status));
  await run.agent.compact();
  expect(seen).toEqual(["before 1", "before 2", "saved, after 1", "saved, after 2", "compacted"]);
});

test("a handler that cancels skips the next one and saves nothing, and the end event says aborted", async () => {
  const run = await filled();
  const before = run.bytes();
  const seen: unknown[] = [];
  run.lifecycle.on("session_before_compact", () => ({ cancel: true }), { source: "1" });
  run.lifecycle.on("session_before_compact", () => void seen.push("2"), { source: "2" });
  run.lifecycle.on("auto_compaction_end", ({ aborted }) => void seen.push(aborted));
  expect((await run.agent.compact()).status).toBe("cancelled");
  expect(seen).toEqual([true]);
  expect(run.bytes().equals(before)).toBe(true);
});

test("a text without a behavior is refused while a run is under way, and nothing of it is queued", async () => {
  const run = await filled({ turn: [calls(), done] });
  let refused: Promise<unknown> | undefined;
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    refused = expect(run.agent.prompt("me too")).rejects.toMatchObject({ code: "agent_busy" });
  });
  await run.agent.prompt("go");
  await refused;
  expect(userTexts(run)).toEqual(["go"]);
});

test("queued texts pass the input handlers, one at a time, and are stored before the request that carries them", async () => {
  const run = await filled({ turn: [calls(), calls(), done, done] });
  const heard: unknown[] = [];
  run.lifecycle.on("input", ({ text, streamingBehavior }) => {
    heard.push([text, streamingBehavior]);
    if (text === "taken") return { action: "handled" };
    return { action: "transform", text: text.toUpperCase() };
  });
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    for (const text of ["one", "taken", "two"]) void run.agent.prompt(text, { behavior: "steer" });
    void run.agent.prompt("last", { behavior: "followUp" });
  });
  const stored: boolean[] = [];
  run.lifecycle.on(
    "before_provider_request",
    () => void stored.push(userTexts(run).length === stored.length + 1),
  );
  await run.agent.prompt("go");
  expect(heard).toEqual([
    ["go", undefined],
    ["one", "steer"],
    ["taken", "steer"],
    ["two", "steer"],
    ["last", "followUp"],
  ]);
  expect(userTexts(run)).toEqual(["GO", "ONE", "TWO", "LAST"]);
  expect(stored).toEqual([true, true, true, true]);
});

test("a text that comes during agent_end starts the next run, and its promise is that run's", async () => {
  const run = await filled();
  let late: Promise<unknown> | undefined;
  const off = run.lifecycle.on("agent_end", () => {
    off();
    late = run.agent.prompt("late", { behavior: "followUp" });
  });
  const names = recordEvents(run.lifecycle);
  await run.agent.prompt("go");
  await late;
  expect(userTexts(run)).toEqual(["go", "late"]);
  expect(names.filter((name) => name === "agent_start")).toHaveLength(2);
  expect(run.agent.isBusy).toBe(false);
});

test("an abort hands back what was queued and never delivered", async () => {
  const run = await filled({ turn: [calls(), done] });
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    void run.agent.prompt("one", { behavior: "steer" });
    void run.agent.prompt("two", { behavior: "followUp" });
    void run.agent.abort();
  });
  const { status, unsent } = await run.agent.prompt("go");
  expect(status).toBe("aborted");
  expect(unsent?.map(({ text }) => text)).toEqual(["one", "two"]);
  expect(run.agent.state).toMatchObject({ isBusy: false, steering: [], followUps: [] });
});

test("an abort during a manual compaction stops it, and what waited is handed back", async () => {
  const run = await filled();
  const before = run.bytes();
  let waiting: Promise<unknown> | undefined;
  duringSummary(run, () => {
    waiting = run.agent.prompt("me next");
    void run.agent.abort();
  });
  expect((await run.agent.compact()).status).toBe("cancelled");
  expect(await waiting).toMatchObject({ status: "aborted", unsent: [{ text: "me next" }] });
  expect(run.bytes().equals(before)).toBe(true);
  expect(run.agent.isBusy).toBe(false);
});

test("clearQueue takes back what waits", async () => {
  const run = await filled({ summary: () => summary });
  let waiting: Promise<unknown> | undefined;
  duringSummary(run, () => {
    waiting = run.agent.prompt("never mind");
    expect(run.agent.clearQueue()).toMatchObject([{ text: "never mind" }]);
  });
  await run.agent.compact();
  expect(await waiting).toMatchObject({ status: "aborted" });
  await run.agent.idle();
  expect(userTexts(run)).toEqual([]);
});

test("a steering text that comes during a compaction between tools is in the very next request", async () => {
  const run = await filled({ turn: [calls({ tokens: 4_000 }), calls(), done] });
  duringSummary(run, () => void run.agent.prompt("the other way", { behavior: "steer" }));
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(run.turns.slice(2).map((turn) => sentText(turn).includes("the other way"))).toEqual([
    false,
    true,
    true,
  ]);
});

test("a text that steers behind the last answer goes in before the compaction that is due there", async () => {
  const run = await filled({ turn: [{ text: filler(4_500) }, done] });
  const names = recordEvents(run.lifecycle);
  const off = run.lifecycle.on("turn_end", () => {
    off();
    void run.agent.prompt("the other way", { behavior: "steer" });
  });
  await run.agent.prompt("go");
  expect(userTexts(run)).toEqual(["go", "the other way"]);
  expect(names.filter((name) => name === "auto_compaction_start")).toHaveLength(1);
  expect(names.lastIndexOf("message_stored user")).toBeLessThan(names.indexOf("auto_compaction_start"));
});
