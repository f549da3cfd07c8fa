import { join } from "node:path";
import { generateSession } from "@bonsai-agent/testkit";
import { test } from "vitest";
import { testFolder } from "./call/sample-session.ts";
import { expectCancelled } from "./cancelled-compaction.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends a compaction of 10,000 entries at work",
  async (signal) => {
    const file = join(testFolder(), "session.jsonl");
    generateSession({ file, entries: 10_000, seed: 5 });
    await expectCancelled({ signal, file });
  },
);
