import { readFileSync, writeFileSync } from "node:fs";
import { openSession, type Session, UsageCounter } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { SessionCost } from "../../src/interactive/status/footer-facts.ts";
import { longSession } from "../call/sample-session.ts";

async function read(cost: SessionCost, session: Session): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  cost.start(session, resolve);
  await promise;
  return cost.counter.usage.cost.total;
}

test("the cost read in slices is the cost of all entries, also of two with one id", async () => {
  const file = longSession();
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const answer = lines.findLast((line) => line.includes('"cost"'))!;
  writeFileSync(file, [...lines, answer.replace(/"total":[\d.e-]+/, '"total":7'), ""].join("\n"));
  const session = openSession(file);
  const counter = new UsageCounter();
  for (const entry of session.entries()) counter.add(entry);
  const costUsd = await read(new SessionCost(), session);
  expect(costUsd).toBeGreaterThan(7);
  expect(costUsd).toBeCloseTo(counter.usage.cost.total, 9);
});

test("new entries are added once, after the first reading", async () => {
  const session = openSession(longSession());
  const cost = new SessionCost();
  const reading = read(cost, session);
  cost.catchUp(session);
  expect(cost.counter.usage.cost.total).toBe(0);
  const before = await reading;
  const answer = session.entries().findLast((entry) => entry.type === "message" && "usage" in entry.message)!;
  session.append(answer as never);
  cost.catchUp(session);
  const { message } = answer as { message: { usage: { cost: { total: number } } } };
  expect(cost.counter.usage.cost.total).toBeCloseTo(before + message.usage.cost.total, 9);
});
