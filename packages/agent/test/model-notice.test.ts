import type { ModelFailure } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { modelNotice } from "../src/notice.ts";

function retryMessage(message: string): string {
  const failure: ModelFailure = { kind: "rateLimit", message, provider: "p", modelId: "m", retryable: true };
  return modelNotice({ type: "retry", attempt: 1, maxAttempts: 5, delayMs: 1_200, failure }).message;
}

test.each([
  ["slow down", "slow down. Retry 1 of 5 in 2 s."],
  ["Slow down.", "Slow down. Retry 1 of 5 in 2 s."],
  ["Too fast!\n", "Too fast! Retry 1 of 5 in 2 s."],
  ["Overloaded…", "Overloaded… Retry 1 of 5 in 2 s."],
])("the text of a server (%j) ends as a sentence before the next one", (said, told) => {
  expect(retryMessage(said)).toBe(told);
});

test("repairs are sentences of their own", () => {
  const repairs = [
    { kind: "unpaired_call", detail: "A call had no result" },
    { kind: "empty_message", detail: "An empty message was left out." },
  ] as never;
  expect(modelNotice({ type: "repair", repairs }).message).toBe(
    "A call had no result. An empty message was left out.",
  );
});
