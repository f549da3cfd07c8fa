import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonlStore, openSession } from "@bonsai-agent/session";
import { generateSession } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actor, calls, scriptedAgent } from "./scripted-agent.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-long-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("from prompt to request, and through a run, only the end of a long session is read", async () => {
  const file = join(folder, "long.jsonl");
  const { bytes } = generateSession({ file, entries: 12_000, compactions: 12 });
  expect(bytes).toBeGreaterThan(8 << 20);
  const store = JsonlStore.open(file);
  let readBytes = 0;
  const read = store.read.bind(store);
  store.read = (target, offset) => {
    const count = read(target, offset);
    readBytes += count;
    return count;
  };
  const session = openSession({ store });
  const run = scriptedAgent({
    session,
    model: { ...actor, contextWindow: 2_000_000 },
    turn: (_call, count) => (count % 2 === 1 ? calls() : { text: "done" }),
  });
  let ended = 0;
  run.lifecycle.on("agent_end", ({ messages }) => {
    ended += messages.length;
  });
  expect(run.agent.state).toMatchObject({
    isBusy: false,
    sessionId: session.id,
    context: { isEstimate: false },
  });
  for (const text of ["one", "two"]) expect((await run.agent.prompt(text)).status).toBe("done");
  expect(ended).toBe(8);
  expect(readBytes).toBeLessThan(bytes / 10);
  session.close();
});
