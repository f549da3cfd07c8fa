/**
 * A background job that reviews files one after the other, with the message types of the OpenAI SDK. After each file it
 * stores messages and state as JSON, so that another worker can continue. The job's own model writes the summaries.
 *
 *     node 15-background-job.ts
 */
import { type CompactState, compactMessages } from "@bonsai-agent/compact";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";

interface Checkpoint {
  messages: ChatCompletionMessageParam[];
  state: CompactState | null;
}

/** A row of the table of jobs, in a real program. */
let stored = JSON.stringify({ messages: [{ role: "system", content: "You review code." }], state: null });

const client = new OpenAI({ apiKey: "none", fetch: scriptedApi }); // in a real program: new OpenAI()

async function ask(messages: ChatCompletionMessageParam[]): Promise<string> {
  const { choices } = await client.chat.completions.create({ model: "any", messages });
  return choices[0]!.message.content ?? "";
}

/** One step of the job, in any worker. */
async function reviewFile(file: number): Promise<void> {
  const { messages, state } = JSON.parse(stored) as Checkpoint;
  const source = `export const limit${file} = ${file * 100}; // at most ${file * 100}\n`.repeat(60);
  messages.push({ role: "user", content: `Review src/file${file}.ts:\n${source}` });
  const compacted = await compactMessages({
    messages,
    state,
    format: "openai-chat",
    settings: { window: 16_000 },
    model: (prompt) => ask([{ role: "user", content: prompt }]),
  });
  const { report } = compacted;
  if (report.status !== "unchanged")
    console.log(
      `  ${report.status} by the ${report.summarisedBy}: ${report.tokensBefore} -> ${report.tokensAfter}`,
    );
  const answer = await ask(compacted.messages);
  compacted.messages.push({ role: "assistant", content: answer });
  stored = JSON.stringify({ messages: compacted.messages, state: compacted.state });
  console.log(`file ${file}: ${answer}`);
}

for (let file = 1; file <= 16; file++) await reviewFile(file);

/** A scripted model: writes a summary in the requested sections, or a review. */
async function scriptedApi(_url: unknown, init?: RequestInit): Promise<Response> {
  const { messages } = JSON.parse(String(init?.body)) as { messages: ChatCompletionMessageParam[] };
  const asked = String(messages.at(-1)?.content);
  const sections = [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
  ];
  const turn = ["Request", "Done So Far", "Needed to Continue"];
  const titles = asked.includes("## Done So Far") ? turn : sections;
  const summary = titles
    .map((title) => `## ${title}\n- The files so far have one constant each.`)
    .join("\n\n");
  const content = asked.startsWith("Review") ? `fine, seen with ${messages.length} messages.` : summary;
  return Response.json({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] });
}
