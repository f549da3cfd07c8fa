/**
 * Your own summariser: an object with a name and one method. This one asks no model. It keeps the user's messages and
 * drops the rest.
 *
 *     node 04-custom-summariser.ts
 */
import {
  compactionSettings,
  runCompaction,
  type Summariser,
  summarySections,
} from "@bonsai-agent/compaction";
import { type Message, messageText } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";

const wordForWord: Summariser = {
  name: "word-for-word",
  async summarise({ kind, messages, previousSummary = "" }) {
    const requests = messages
      .filter(({ role }) => role === "user")
      .map((message) => `- ${firstLine(message)}`);
    // The earlier summary in this summariser's own words, without the carried data.
    const earlier = previousSummary.split("\n").filter((line) => line.startsWith("- "));
    // A summary must have the requested headings.
    const [first, ...others] = summarySections[kind];
    const sections = [
      `## ${first}`,
      ...earlier,
      ...requests,
      ...others.map((heading) => `\n## ${heading}\n(none)`),
    ];
    return { text: sections.join("\n"), stopReason: "stop" };
  },
};

const session = createSession({ cwd: "/project" });
const compact = () =>
  runCompaction({
    session,
    settings: compactionSettings({ keepRecentTokens: 4_000 }),
    summariser: wordForWord,
  });

for (const week of [1, 2]) {
  for (let day = 1; day <= 8; day++)
    say(`Week ${week}, day ${day}: mend test ${day}.\n${"ok 1 - it works\n".repeat(300)}`);
  const { status, rung, tokensBefore, tokensAfter, summarizedEntryIds } = await compact();
  console.log(
    `${status} by ${rung}: ${tokensBefore} tokens, now ${tokensAfter}; ${summarizedEntryIds.length} summarised`,
  );
}

// The model sees the summary in a frame, with the carried data after it.
console.log(`\n${session.projection().compaction?.summary}`);

function say(content: string): void {
  session.append({ type: "message", message: { role: "user", content, timestamp: Date.now() } });
}

function firstLine(message: Message): string {
  return messageText(message).split("\n")[0]!;
}
