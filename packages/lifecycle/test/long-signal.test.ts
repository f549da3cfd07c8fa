import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { sampleLifecycle } from "./sample-events.ts";

it("a signal that outlives many events holds no listener of theirs", async () => {
  const { lifecycle } = sampleLifecycle();
  const { signal } = new AbortController();
  let during = 0;
  lifecycle.on("session_start", async () => {
    await Promise.resolve();
    during = getEventListeners(signal, "abort").length;
  });
  lifecycle.on("before_compact", async () => {
    throw new Error("broken");
  });
  for (let time = 0; time < 3; time++) {
    await lifecycle.notify("session_start", { reason: "new" }, { signal });
    await lifecycle.decide("before_compact", { reason: "manual" }, { signal });
  }
  expect(during).toBe(1);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
