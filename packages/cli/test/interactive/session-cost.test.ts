import { readFileSync, writeFileSync } from "node:fs";
import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { readCost } from "../../src/interactive/status/session-cost.ts";
import { FactCounter } from "../../src/views/session-facts.ts";
import { longSession } from "../call/sample-session.ts";

test("two entries of one id have cost both", async () => {
  const file = longSession();
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const answer = lines.findLast((line) => line.includes('"cost"'))!;
  writeFileSync(file, [...lines, answer.replace(/"total":[\d.e-]+/, '"total":7'), ""].join("\n"));
  const session = openSession(file);
  const counter = new FactCounter();
  for (const entry of session.entries()) counter.add(entry);
  const { promise, resolve } = Promise.withResolvers<number>();
  readCost(session, ({ usage }) => resolve(usage.cost.total));
  const costUsd = await promise;
  expect(costUsd).toBeGreaterThan(7);
  expect(costUsd).toBeCloseTo(counter.facts().usage.cost.total, 9);
});

test("the cost read in slices is the cost of all entries", async () => {
  const session = openSession(longSession());
  const counter = new FactCounter();
  for (const entry of session.entries()) counter.add(entry);
  const { promise, resolve } = Promise.withResolvers<number>();
  readCost(session, ({ usage }) => resolve(usage.cost.total));
  const costUsd = await promise;
  expect(costUsd).toBeGreaterThan(0);
  expect(costUsd).toBeCloseTo(counter.facts().usage.cost.total, 9);
});

test("a long session is looked at between the keys, and not all at once before them", async () => {
  const session = openSession(longSession());
  const index = session.index();
  let looks = 0;
  const counted = new Proxy(index, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      looks += 1;
      return value.bind(target);
    },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  readCost({ index: () => counted, entryAt: (number) => session.entryAt(number) }, ({ usage }) =>
    resolve(usage.cost.total),
  );
  expect(looks).toBe(0);
  await promise;
  expect(looks).toBeGreaterThan(index.count);
});
