import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { createSession, openSession } from "@bonsai-agent/session";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import { defineTool, type Tool } from "../src/tools/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import { echo, filler, scriptedAgent, summary } from "./scripted-agent.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-abort-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Counts what happens; at one of the moments something is done. */
class Moments {
  count = 0;
  readonly #at: number;
  readonly #act: () => void;

  constructor(at: number, act: () => void) {
    this.#at = at;
    this.#act = act;
  }

  tick(): void {
    this.count += 1;
    if (this.count === this.#at) this.#act();
  }
}

function toolsWith(moments: Moments): Tool[] {
  const patient = defineTool({
    name: "patient",
    description: "Works in several steps and obeys the signal.",
    parameters: z.object({ steps: z.number() }),
    async execute({ input, signal, onUpdate }) {
      for (let step = 0; step < input.steps; step++) {
        signal.throwIfAborted();
        onUpdate({ content: [{ type: "text", text: `step ${step}` }] });
        await Promise.resolve();
        moments.tick();
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  });
  const alone = defineTool({
    name: "alone",
    description: "Fails.",
    executionMode: "sequential" as const,
    parameters: z.object({}),
    async execute() {
      moments.tick();
      throw new Error("it never works");
    },
  });
  return [echo, patient, alone];
}

const call = fc.oneof(
  fc.nat(6_000).map((tokens) => ({ name: "echo", arguments: { tokens } })),
  fc.nat(3).map((steps) => ({ name: "patient", arguments: { steps } })),
  fc.constantFrom(
    { name: "alone", arguments: {} },
    { name: "nowhere", arguments: {} },
    { name: "patient", arguments: { steps: "many" } },
  ),
);
const answer: fc.Arbitrary<ScenarioAnswer> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      text: fc.constant("I look."),
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constant({
      error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" },
    }),
  },
);
const script = fc.array(answer, { minLength: 1, maxLength: 5 });

test("an abort at any moment leaves an idle agent and a valid session", async () => {
  let aborted = 0;
  let number = 0;
  await fc.assert(
    fc.asyncProperty(script, fc.integer({ min: 1, max: 90 }), async (answers, at) => {
      const session = createSession({ cwd: "/project", file: join(folder, `${number++}.jsonl`) });
      let isOver = false;
      const moments = new Moments(at, () => {
        if (!isOver) void run.agent.abort();
      });
      const run: ReturnType<typeof scriptedAgent> = scriptedAgent({
        session,
        tools: toolsWith(moments),
        turn: (_call, count) =>
          isOver || count <= 2 ? { text: "fine" } : (answers[count - 3] ?? { text: "done" }),
        summary: () => summary,
      });
      for (const size of [3_000, 4_000]) await run.agent.prompt(filler(size));
      const counted = Object.keys(lifecycleEventRules) as (keyof typeof lifecycleEventRules)[];
      for (const name of counted) run.lifecycle.on(name, () => moments.tick());

      const result = await run.agent.prompt("work");
      if (result.status === "aborted") aborted += 1;
      else expect(moments.count < at || result.status === "done" || result.status === "failed").toBe(true);
      expect(run.agent.isBusy).toBe(false);
      isOver = true;

      const reopened = openSession(session.file!);
      expect(reopened.projection().items).toEqual(session.projection().items);
      expect((await run.agent.prompt("and now?")).status).toBe("done");
      expect(unpaired(run.turns.at(-1)!.messages)).toEqual([]);
      expect(openSession(session.file!).projection().items).toEqual(session.projection().items);
      await run.agent.close();
    }),
  );
  expect(aborted).toBeGreaterThan(0);
}, 120_000);
