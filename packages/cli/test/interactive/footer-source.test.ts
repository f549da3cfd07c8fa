import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { openSession } from "@bonsai-agent/session";
import { everyRow, generateSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { FooterSource } from "../../src/interactive/status/footer-source.ts";
import { sampleLines, testFolder, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

test("a frame after the session closed shows the last known facts", () => {
  const session = openSession(writeLines(sampleLines()));
  const model = { provider: "stage", id: "actor", reasoning: false };
  const agent = {
    background: { isUnderway: false },
    session,
    get state() {
      const { tokens } = { tokens: session.path().length };
      return {
        model,
        thinking: "off",
        context: { tokens, isEstimate: true, estimatedTokens: tokens },
        sessionName: session.name,
      };
    },
  };
  const folder = testFolder();
  const source = new FooterSource({
    ...{ cwd: folder, folder, redraw: () => {} },
    agent: () => agent as unknown as Agent,
  });
  const before = source.facts;
  expect(before).toMatchObject({ tokens: session.path().length });
  session.close();
  source.refresh();
  expect(source.facts).toBe(before);
});

test("a long session that does not end in an answer is shown before its context is counted", async () => {
  const file = join(testFolder(), "long.jsonl");
  generateSession({ file, entries: 2_000, averageBytes: 300, branchiness: 0 });
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const end = lines.findLastIndex((line) => line.includes('"role":"toolResult"')) + 1;
  writeFileSync(file, `${lines.slice(0, end).join("\n")}\n`);
  const { terminal } = openInteractive({ argv: ["--session", file] });
  await terminal.until(/ \?\/100k/);
  await terminal.until(/\d[kM]\/100k/);
});

test("the context is an estimate if entries after the last answer were estimated", () =>
  everyRow([
    [238_000, 150_000, "estimate"],
    [238_000, 2_000, "estimate"],
    [238_000, 0, "reported"],
    [0, 0, "reported"],
  ])(([tokens, estimatedTokens, certainty]) => {
    const model = { provider: "stage", id: "actor", reasoning: false, contextWindow: 100_000 };
    const context = { tokens, windowTokens: 100_000, isEstimate: false, estimatedTokens };
    const agent = {
      session: { leafId: null, projection: () => ({ items: [] }) },
      state: { model, thinking: "off", context },
      background: { isUnderway: false },
    };
    const source = new FooterSource({
      ...{ cwd: testFolder(), folder: "~", redraw: () => {} },
      agent: () => agent as unknown as Agent,
    });
    expect(source.facts).toMatchObject({ tokens, certainty });
  }));

/** Tells each listener that a session was opened. */
const opening = {
  on: (name: string, handler: (event: object) => void) =>
    name === "session_start" && handler({ reason: "startup" }),
};

test("a short session, and one that ends in an answer, show the context at once", () => {
  for (const [count, role] of [
    [10, "toolResult"],
    [5_000, "assistant"],
  ] as const) {
    const items = Array.from({ length: count }, () => ({ message: { role } }));
    const model = { provider: "stage", id: "actor", reasoning: false, contextWindow: 100 };
    const context = { tokens: 7, windowTokens: 100, isEstimate: false, estimatedTokens: 0 };
    const agent = {
      session: { leafId: null, projection: () => ({ items }) },
      state: { model, thinking: "off", context },
      background: { isUnderway: false },
    };
    const source = new FooterSource({
      ...{ cwd: testFolder(), folder: "~", redraw: () => {} },
      agent: () => agent as unknown as Agent,
    });
    source.listen(opening as unknown as Lifecycle<LifecycleEvents>);
    expect(source.facts).toMatchObject({ tokens: 7, certainty: "reported" });
  }
});
