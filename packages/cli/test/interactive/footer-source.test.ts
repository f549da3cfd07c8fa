import type { Agent } from "@bonsai-agent/agent";
import { openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { FooterSource } from "../../src/interactive/status/footer-facts.ts";
import { sampleLines, testFolder, writeLines } from "../call/sample-session.ts";

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

test("the context is an estimate if entries after the last answer were estimated", () =>
  everyRow([
    [238_000, 150_000, true],
    [238_000, 2_000, true],
    [238_000, 0, false],
    [0, 0, false],
  ])(([tokens, estimatedTokens, isEstimate]) => {
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
    expect(source.facts).toMatchObject({ tokens, isEstimate });
  }));
