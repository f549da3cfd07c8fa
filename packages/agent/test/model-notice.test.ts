import type { ModelFailure } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { modelNotice } from "../src/notice.ts";

function retryMessage(message: string): string {
  const failure: ModelFailure = { kind: "rateLimit", message, provider: "p", modelId: "m", retryable: true };
  return modelNotice({ type: "retry", attempt: 1, maxAttempts: 5, delayMs: 1_200, failure }).message;
}

const texts = [
  ["slow down", "slow down. Retry 1 of 5 in 2 s."],
  ["Slow down.", "Slow down. Retry 1 of 5 in 2 s."],
  ["Too fast!\n", "Too fast! Retry 1 of 5 in 2 s."],
  ["Overloaded…", "Overloaded… Retry 1 of 5 in 2 s."],
] as const;
test("the text of a server ends as a sentence before the next one", () => {
  expect(texts.map(([said]) => [said, retryMessage(said)])).toEqual(texts);
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
