import { expect, test } from "vitest";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import { SessionListing } from "../src/listing/session-listing.ts";
import { type EventName, eventCases } from "./event-cases.ts";
import { type Stage, stage } from "./extension-stage.ts";
import { calls, echo, recordEvents } from "./scripted-agent.ts";
import { shellSaying } from "./shell-saying.ts";

const toolTurn = [calls({ text: "hi" }), { text: "done" }];
const masks = { protectTokens: 3_500, minimumTokens: 1_000 };
const all = Object.keys(lifecycleEventRules) as EventName[];
const deciding = all.filter((name) => lifecycleEventRules[name].kind === "decide");

/** Says it again, and shows on the way that it does. */
const shows: typeof echo = {
  ...echo,
  execute: (execution) => {
    execution.onUpdate({ content: [] });
    return echo.execute(execution);
  },
};

async function opened(name: EventName): Promise<Stage> {
  const { sizes } = eventCases[name];
  const isMask = name.endsWith("mask");
  const big = [2_000, 3_000, 4_000].map((tokens) => calls({ tokens }));
  const run: Stage = await stage({
    ...(sizes === undefined ? {} : { sizes }),
    tools: [shows],
    turn: isMask ? [...big, { text: "done" }] : toolTurn,
    ...(isMask ? { settings: { compaction: { mask: masks } } } : {}),
    shell: shellSaying("local"),
    followers: [follower(name, () => run)],
  });
  return run;
}

/** Names the session, where that is under test. */
function follower(name: EventName, run: () => Stage) {
  const named = () => {
    const { session, lifecycle } = run();
    return new SessionListing({
      settings: { titles: true },
      session,
      lifecycle,
      models: {} as never,
      smallModel: undefined,
      onNotice: () => {},
    });
  };
  let made: ReturnType<typeof named> | undefined;
  return {
    runEnded: (ended: Parameters<ReturnType<typeof named>["runEnded"]>[0]) => {
      if (name !== "session_info_changed") return;
      made = named();
      made.runEnded(ended);
    },
    close: async () => made?.close(),
  };
}

test("every event is fired at its moment, with its payload", async () => {
  for (const name of all) {
    const run = await opened(name);
    const names = recordEvents(run.lifecycle);
    const payloads: object[] = [];
    let behind: string | undefined;
    run.lifecycle.on(name, (payload: object) => {
      if (payloads.length === 0) behind = names.at(-2);
      payloads.push(payload);
    });
    await eventCases[name].act(run);
    expect.soft(payloads[0], name).toMatchObject({ type: name, ...eventCases[name].payload(run) });
    if (!eventCases[name].isConcurrent) expect.soft(behind, name).toBe(eventCases[name].behind);
  }
});

test("the answer of a handler takes effect for every event that decides", async () => {
  for (const name of deciding) {
    const { act, answer, holds } = eventCases[name];
    const run = await opened(name);
    let isAsked = false;
    run.lifecycle.on(name, () => {
      if (isAsked) return undefined;
      isAsked = true;
      return answer!(run) as never;
    });
    const acted = await act(run);
    expect.soft(isAsked, name).toBe(true);
    holds!(run, acted);
  }
});

test("events that only notify have no answer, and those that decide have one", () => {
  const asking = all.filter(
    (name) => eventCases[name].answer !== undefined && eventCases[name].holds !== undefined,
  );
  expect(asking).toEqual(deciding);
});

test("a handler that throws is named, and breaks nothing but what it guards, for every event", async () => {
  for (const name of all) {
    const run = await opened(name);
    run.lifecycle.on(name, () => Promise.reject(new Error("broken")), { source: "clumsy" });
    await eventCases[name].act(run);
    const notice = { type: "handler_error", event: name, source: "clumsy" };
    expect.soft(run.handlerNotices[0], name).toMatchObject(notice);
    await run.agent.idle();
    expect.soft(run.agent.isBusy, name).toBe(false);
  }
});
