/**
 * Cancelling: a handler that rejects a compaction, and a signal that aborts a running one. The session file does not
 * change.
 *
 *     node 05-cancelling.ts
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  digestSummariser,
  runCompaction,
  type Summariser,
} from "@bonsai-agent/compaction";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { createSession } from "@bonsai-agent/session";

const file = join(mkdtempSync(join(tmpdir(), "cancelling-")), "session.jsonl");
const session = createSession({ cwd: process.cwd(), file });
for (let day = 1; day <= 12; day++) {
  const content = `Day ${day}: mend test ${day}.\n${"ok 1 - it works\n".repeat(300)}`;
  session.append({ type: "message", message: { role: "user", content, timestamp: Date.now() } });
}
const before = readFileSync(file, "utf8");
const settings = compactionSettings({ keepRecentTokens: 4_000 });
const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });

// 1. A handler checks the plan and cancels.
const undo = lifecycle.on("session_before_compact", ({ preparation }) => {
  const { length } = preparation.messagesToSummarize;
  return length > 5 ? { cancel: true, reason: `${length} messages are too many to summarise.` } : {};
});
const refused = await runCompaction({ session, settings, lifecycle });
console.log(`handler: ${refused.status}. ${refused.detail}`);
console.log(`the file is ${readFileSync(file, "utf8") === before ? "as it was" : "changed"}`);
undo();

// 2. The user presses Esc during the summary. The compaction does not wait for a summariser that ignores the signal.
const stop = new AbortController();
const slow: Summariser = {
  name: "slow",
  summarise: () => {
    stop.abort();
    return new Promise(() => {});
  },
};
const aborted = await runCompaction({ session, settings, lifecycle, summariser: slow, signal: stop.signal });
console.log(`signal: ${aborted.status}. ${aborted.detail}`);
console.log(`the file is ${readFileSync(file, "utf8") === before ? "as it was" : "changed"}`);

// 3. The next compaction works as usual.
const done = await runCompaction({ session, settings, lifecycle, summariser: digestSummariser() });
console.log(`then: ${done.status}, ${done.tokensBefore} tokens, now ${done.tokensAfter}`);
