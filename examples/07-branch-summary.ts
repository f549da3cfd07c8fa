/**
 * Leaving a branch with a summary: the next attempt knows the results of the first, and the branch stays in the tree.
 *
 *     node 07-branch-summary.ts
 */
import {
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  navigateTree,
} from "@bonsai-agent/compaction";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { emptyUsage, messageText } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";

const session = createSession({ cwd: "/project" });
say("Requests to the price service must not take longer than 200 ms.");
const goal = answer("Two ways: a cache in front of it, or fewer requests.");
say("Try the cache first. It must not serve prices older than five minutes.");
answer("I decided on an LRU cache with 5,000 entries, in src/price-cache.ts.");
answer("Measured: 40 ms for hits, but only 12% are hits. It does not help enough.");

const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
lifecycle.on("session_before_tree", ({ preparation }) =>
  console.log(`${preparation.entriesToSummarize.length} entries are left`),
);
lifecycle.on("session_tree", ({ summaryEntry }) => console.log(`summary: ${summaryEntry?.type ?? "none"}`));

// Without a `summariser`, the built-in digest writes the summary. A signal can cancel it.
const { status, previousLeafId } = await navigateTree({
  session,
  settings: compactionSettings({}),
  targetId: goal,
  summarise: true,
  focus: "what was measured",
  lifecycle,
});
say("Then make it fewer requests.");

console.log(`${status}; the model sees:`);
for (const { message } of session.projection().items)
  console.log(`\n${message.role}: ${messageText(message)}`);
console.log(`\nThe branch that was left still has ${session.path(previousLeafId).length} entries.`);

function say(content: string): void {
  session.append({ type: "message", message: { role: "user", content, timestamp: Date.now() } });
}

function answer(text: string): string {
  const { id } = session.append({
    type: "message",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      ...{ api: "example", provider: "example", model: "example", usage: emptyUsage() },
      stopReason: "stop",
      timestamp: Date.now(),
    },
  });
  return id;
}
