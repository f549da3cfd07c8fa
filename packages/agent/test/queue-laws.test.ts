import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { fewRuns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunResult } from "../src/events.ts";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import type { SendMessageOptions } from "../src/run/queue.ts";
import { unpaired } from "./pairs.ts";
import { calls, filler, scriptedAgent, summary } from "./scripted-agent.ts";

type Act =
  | ("steer" | "followUp" | "plain" | "abort" | "cancelCompaction" | "compact" | "setModel")
  | ("message" | "lateMessage" | "waking" | "requestCompaction");

const answer: fc.Arbitrary<ScenarioAnswer> = fc.oneof(
  fc.nat(5_000).map((tokens) => calls({ tokens })),
  fc.constant({ text: "done" }),
  { weight: 1, arbitrary: fc.constant({ error: { status: 401, message: "invalid key" } }) },
);
const acts = fc.array(
  fc.record({
    at: fc.integer({ min: 1, max: 80 }),
    act: fc.constantFrom<Act>(
      ...(["steer", "followUp", "steer", "followUp", "plain"] as const),
      ...(["abort", "cancelCompaction", "compact", "setModel"] as const),
      ...(["message", "lateMessage", "waking", "requestCompaction"] as const),
    ),
  }),
  { minLength: 3, maxLength: 8 },
);

test("no text and no message is lost or delivered twice, and every request has its outcome, whatever is done at whatever moment", async () => {
  let unsentCount = 0;
  let queuedCount = 0;
  let messageCount = 0;
  let outcomeCount = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(answer, { maxLength: 8 }),
      acts,
      fc.boolean(),
      async (answers, plan, manual) => {
        const run = scriptedAgent({
          turn: (_call, count) => (count <= 2 ? { text: "fine" } : (answers[count - 3] ?? { text: "done" })),
          summary: () => summary,
        });
        for (const size of [4_000, 4_000]) await run.agent.prompt(filler(size));

        const unsentTexts: string[] = [];
        const given: string[] = [];
        const refused = new Set<string>();
        const results: Promise<RunResult | undefined>[] = [];
        const say = (behavior?: "steer" | "followUp") => {
          const text = `text ${given.length}`;
          given.push(text);
          results.push(
            run.agent.prompt(text, behavior === undefined ? {} : { behavior }).catch(() => {
              refused.add(text);
              return undefined;
            }),
          );
        };
        const messages: string[] = [];
        const outcomes: Promise<unknown>[] = [];
        const send = (options: SendMessageOptions) => {
          const content = `message ${messages.length}`;
          messages.push(content);
          results.push(run.agent.sendMessage({ customType: "law", content, display: true }, options));
        };
        const does: Record<Act, () => void> = {
          steer: () => say("steer"),
          followUp: () => say("followUp"),
          plain: () => say(),
          abort: () => void run.agent.abort(),
          cancelCompaction: () => run.agent.cancelCompaction(),
          compact: () => void run.agent.compact().catch(() => {}),
          message: () => send({}),
          lateMessage: () => send({ deliverAs: "followUp", triggerTurn: false }),
          waking: () => send({ triggerTurn: true }),
          requestCompaction: () => void outcomes.push(run.agent.requestCompaction()),
          setModel: () => void run.agent.setModel({ ...run.agent.model, id: "other" }),
        };
        let moment = 0;
        for (const name of Object.keys(lifecycleEventRules) as (keyof typeof lifecycleEventRules)[])
          run.lifecycle.on(name, () => {
            moment += 1;
            for (const { at, act } of plan) if (at === moment) does[act]();
          });

        if (manual) await run.agent.compact();
        else say();
        await run.agent.idle();
        while (results.length > 0) {
          const ended = await Promise.all(results.splice(0));
          for (const text of new Set(ended.flatMap((result) => result?.unsent ?? [])))
            unsentTexts.push(text.text);
          await run.agent.idle();
        }
        const stored = run.session
          .path()
          .flatMap((entry) =>
            entry.type === "message" && entry.message.role === "user" ? [entry.message.content] : [],
          )
          .slice(2);
        const sent = run.session
          .path()
          .flatMap((entry) => (entry.type === "custom_message" ? [entry.content as string] : []));
        expect(sent.sort()).toEqual(messages.sort());
        messageCount += sent.length;
        for (const outcome of await Promise.all(outcomes))
          expect(outcome).toMatchObject({ reason: "manual" });
        outcomeCount += outcomes.length;
        expect(run.agent.hasPendingMessages).toBe(false);
        const expected = given.filter((text) => !refused.has(text));
        expect([...stored, ...unsentTexts].sort()).toEqual([...expected].sort());
        unsentCount += unsentTexts.length;
        queuedCount += Math.max(0, stored.length - 1);
        expect(run.agent.state).toMatchObject({
          isBusy: false,
          isCompacting: false,
          steering: [],
          followUps: [],
        });
        for (const turn of run.turns) expect(unpaired(turn.messages)).toEqual([]);
      },
    ),
    fewRuns(20),
  );
  expect(unsentCount).toBeGreaterThan(0);
  expect(queuedCount).toBeGreaterThan(0);
  expect(messageCount).toBeGreaterThan(0);
  expect(outcomeCount).toBeGreaterThan(0);
}, 120_000);
