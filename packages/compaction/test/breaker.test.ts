import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { broken, controllerFor, noDigest, settingsFor } from "./ladder-controller.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

test("one try by threshold for each request", async () => {
  const { controller, session } = controllerFor();
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("compacted");
  history("U:30000 A:30000 U:10 A:10", session);
  expect((await controller.checkThreshold({ site: "betweenTools" })).detail).toContain(
    "tried before this request",
  );
  controller.answerArrived();
  expect((await controller.checkThreshold({ site: "betweenTools" })).status).toBe("compacted");
});

test("one compaction at a time", async () => {
  const { controller } = controllerFor();
  const [first, second] = await Promise.all([controller.compact(), controller.compact()]);
  expect([first.status, second.status]).toEqual(["compacted", "skipped"]);
  expect(second.detail).toBe("Another compaction is running.");
});

test("the breaker opens after three failures in a row and says why; a manual success closes it", async () => {
  const answers = [broken, broken, broken];
  const summariser = scriptedSummariser(answers);
  const { controller, warnings } = controllerFor({ summariser, settings: noDigest });
  for (let task = 0; task < 4; task++) {
    controller.userMessageArrived();
    await controller.checkThreshold({ site: "beforePrompt" });
  }
  expect(warnings).toEqual([
    "compaction_failed",
    "compaction_failed",
    "compaction_failed",
    "compaction_paused",
  ]);
  controller.userMessageArrived();
  expect((await controller.checkThreshold({ site: "betweenTools" })).detail).toContain(
    "3 compactions in a row failed",
  );
  expect((await controller.compact()).status).toBe("compacted");
});

test("the breaker opens when three compactions within three requests did not keep the context small", async () => {
  const { controller, session } = controllerFor();
  for (let request = 0; request < 3; request++) {
    expect((await controller.checkThreshold({ site: "betweenTools" })).status).toBe("compacted");
    controller.answerArrived();
    history("U:30000 A:30000 U:10 A:10", session);
  }
  const paused = await controller.checkThreshold({ site: "betweenTools" });
  expect(paused.detail).toContain("did not keep the context small");
});

test("the paused breaker names a system prompt that is too large by itself", async () => {
  const { controller, session } = controllerFor(
    { settings: settingsFor({ keepRecentTokens: 50 }) },
    "U:2000 A:2000 | U:10 A:10@59000",
  );
  for (let request = 0; request < 3; request++) {
    await controller.checkThreshold({ site: "betweenTools" });
    controller.answerArrived();
    history("U:2000 A:2000 U:10 A:10@59000", session);
  }
  const paused = await controller.checkThreshold({ site: "betweenTools" });
  expect(paused.detail).toContain("The system prompt and the tools alone take ~");
});
