import type { Agent } from "@bonsai-agent/agent";
import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { FooterSource } from "../../src/interactive/status/footer-source.ts";
import { sampleLines, testFolder, writeLines } from "../sample-session.ts";

test("a frame that comes when the session is closed shows what was known", () => {
  const session = openSession(writeLines(sampleLines()));
  const model = { provider: "stage", id: "actor", reasoning: false };
  const agent = {
    session,
    get state() {
      const { tokens } = { tokens: session.path().length };
      return { model, thinking: "off", context: { tokens, isEstimate: true }, sessionName: session.name };
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
