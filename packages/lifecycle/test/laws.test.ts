import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleLifecycle } from "./sample-events.ts";

const sources: fc.Arbitrary<string> = fc.constantFrom("a", "b", "c", "d");
const handlers = fc.array(
  fc.record({
    source: sources,
    /** A value to propose, or one of the ways to abstain. */
    does: fc.oneof(fc.nat(99).map(String), fc.constantFrom("undefined", "{}", "throw")),
    waits: fc.boolean(),
  }),
  { maxLength: 12 },
);
type HandlerPlan = { source: string; does: string; waits: boolean };

const abstains = (plan: HandlerPlan) => ["undefined", "{}", "throw"].includes(plan.does);

function act(plan: HandlerPlan): { label?: string } | undefined {
  if (plan.does === "throw") throw new Error("planned");
  if (plan.does === "undefined") return undefined;
  return plan.does === "{}" ? {} : { label: plan.does };
}

async function decided(plans: HandlerPlan[]) {
  const { lifecycle } = sampleLifecycle();
  const calls: HandlerPlan[] = [];
  for (const plan of plans) {
    const handler = (): { label?: string } | undefined => {
      calls.push(plan);
      return act(plan);
    };
    lifecycle.on("before_compact", plan.waits ? async () => handler() : handler, { source: plan.source });
  }
  return { calls, decision: await lifecycle.decide("before_compact", { reason: "manual" }) };
}

/** The order that the design promises, by another algorithm. */
function promisedOrder(plans: HandlerPlan[]): HandlerPlan[] {
  const bySource = new Map<string, HandlerPlan[]>();
  for (const plan of plans) bySource.set(plan.source, [...(bySource.get(plan.source) ?? []), plan]);
  return [...bySource.values()].flat();
}

describe("laws", () => {
  it("handlers are called by source, then by registration, each once", async () => {
    await fc.assert(
      fc.asyncProperty(handlers, async (plans) => {
        const { calls } = await decided(plans);
        const promised = promisedOrder(plans);
        expect(calls).toHaveLength(promised.length);
        calls.forEach((call, index) => void expect(call).toBe(promised[index]));
      }),
    );
  });

  it("a field once set is never erased: abstaining changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(handlers, async (plans) => {
        const all = await decided(plans);
        const last = promisedOrder(plans).findLast((plan) => !abstains(plan));
        expect(all.decision.result).toEqual(last && { label: last.does });
        expect(all.decision.sources).toEqual(last ? { label: last.source } : {});
        // The same sources in the same order, without what those who abstain do.
        const without = promisedOrder(plans).filter((plan) => !abstains(plan));
        expect((await decided(without)).decision).toEqual(all.decision);
      }),
    );
  });

  it("an undo removes exactly one registration, however often it is called", async () => {
    await fc.assert(
      fc.asyncProperty(handlers, fc.array(fc.nat(11), { maxLength: 20 }), async (plans, undone) => {
        const { lifecycle } = sampleLifecycle();
        const calls: HandlerPlan[] = [];
        const undos = plans.map((plan) =>
          lifecycle.on("session_start", () => void calls.push(plan), { source: plan.source }),
        );
        for (const index of undone) undos[index]?.();
        await lifecycle.notify("session_start", { reason: "new" });
        const left = promisedOrder(plans).filter((plan) => !undone.includes(plans.indexOf(plan)));
        expect(calls).toHaveLength(left.length);
        calls.forEach((call, index) => void expect(call).toBe(left[index]));
      }),
    );
  });

  it("removing a source is the same as its never having registered, for the others", async () => {
    await fc.assert(
      fc.asyncProperty(handlers, sources, async (plans, removed) => {
        const { lifecycle } = sampleLifecycle();
        const calls: HandlerPlan[] = [];
        for (const plan of plans) {
          lifecycle.on("session_start", () => void calls.push(plan), { source: plan.source });
        }
        lifecycle.removeSource(removed);
        await lifecycle.notify("session_start", { reason: "new" });
        expect(calls).toEqual(promisedOrder(plans.filter((plan) => plan.source !== removed)));
      }),
    );
  });
});
