/**
 * A split turn: one task is so long that the cut is inside its turn. The earlier turns and the start of this turn get
 * separate summaries, and the task itself is carried over word for word.
 *
 *     node 06-split-turn.ts
 */
import {
  type CompactionResult,
  compactionSettings,
  digestSummariser,
  planCompaction,
  runCompaction,
  type Summariser,
} from "@bonsai-agent/compaction";
import { emptyUsage } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";

const session = createSession({ cwd: "/project" });
say("Get to know the project. Never touch the folder vendor/.");
read("README.md");
const request = "Replace the date library in all modules, and keep the public names as they are.";
say(request);
for (let module = 1; module <= 12; module++) read(`src/module-${module}.ts`);

const settings = compactionSettings({ keepRecentTokens: 4_000 });
const model = { contextWindow: 32_000 };

// A plan asks no model and writes nothing.
const plan = planCompaction({ session, settings, model });
draw(plan);

// Both summaries are requested in parallel.
const digest = digestSummariser();
const summariser: Summariser = {
  ...digest,
  summarise(ask) {
    console.log(`asked for the ${ask.kind}: ${ask.messages.length} messages`);
    return digest.summarise(ask);
  },
};
const result = await runCompaction({ session, settings, model, summariser });
const summary = result.summary ?? "";
console.log(`${result.tokensBefore} tokens, now ${result.tokensAfter}`);
console.log(`the rule of the first turn is kept: ${summary.includes("vendor/")}`);
console.log(`the turn's part stands apart: ${summary.includes("**Turn Context (split turn):**")}`);
console.log(`the request is carried over: ${/^(.*)\n<\/latest-request>/m.exec(summary)?.[1] === request}`);

/** Prints one line per message of the context, with the cut. */
function draw({ summarizedEntryIds, turnPrefixEntryIds, firstKeptEntryId }: CompactionResult): void {
  for (const { entryId, message } of session.projection().items) {
    if (entryId === firstKeptEntryId) console.log("------------- cut");
    const part = summarizedEntryIds.includes(entryId)
      ? "history"
      : turnPrefixEntryIds.includes(entryId)
        ? "prefix"
        : "kept";
    console.log(`${part.padEnd(8)} ${message.role}`);
  }
}

function say(content: string): void {
  session.append({ type: "message", message: { role: "user", content, timestamp: Date.now() } });
}

/** Appends a call of the model and its result. */
function read(path: string): void {
  const timestamp = Date.now();
  session.append([
    {
      type: "message",
      message: {
        role: "assistant",
        content: [{ type: "toolCall", id: path, name: "read", arguments: { path } }],
        ...{
          api: "example",
          provider: "example",
          model: "example",
          usage: emptyUsage(),
          stopReason: "toolUse",
        },
        timestamp,
      },
    },
    {
      type: "message",
      message: {
        role: "toolResult",
        ...{ toolCallId: path, toolName: "read", isError: false, timestamp },
        content: [{ type: "text", text: `export const from = "${path}";\n`.repeat(100) }],
      },
    },
  ]);
}
