import type { Message, TextContent } from "@bonsai-agent/messages";
import { createSession, type EntryDraft, type Session, type StoredMessage } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 5 }, { estimator: "chars4" });
const SENTENCE = "The audit found that ZETA9 deadlocks under load.";
const text = (content: string): TextContent[] => [{ type: "text", text: content }];

const message = (body: object): EntryDraft => ({
  type: "message",
  message: { timestamp: 1, ...body } as StoredMessage,
});
const says = (role: "user" | "assistant", content: string) => message({ role, content: text(content) });

/** Entries that show the model a sentence, for each message role. A missing role is a type error. */
const SHOWN: Record<Exclude<Message["role"], "system">, Record<string, EntryDraft[]>> = {
  user: {
    "a user message": [says("user", SENTENCE)],
    "a message of a program": [says("user", `<task-notification>${SENTENCE}</task-notification>`)],
  },
  assistant: { "an answer": [says("assistant", SENTENCE)] },
  toolResult: {
    "a tool result": [
      message({ role: "assistant", content: [{ type: "toolCall", id: "t", name: "audit", arguments: {} }] }),
      message({
        role: "toolResult",
        toolCallId: "t",
        toolName: "audit",
        content: text(SENTENCE),
        isError: false,
      }),
    ],
  },
  bashExecution: {
    "a command of the user": [
      message({ role: "bashExecution", command: "audit ZETA9", output: SENTENCE, exitCode: 0 }),
    ],
  },
  custom: {
    "a message of an extension": [
      { type: "custom_message", customType: "audit", content: SENTENCE, display: true },
    ],
    "a tool result without its call": [
      {
        type: "custom_message",
        customType: "bonsai.import.result",
        content: text(SENTENCE),
        display: false,
      },
    ],
  },
  branchSummary: {
    "a branch summary": [{ type: "branch_summary", fromId: "root", summary: SENTENCE }],
    "a merged branch": [{ type: "branch_summary", fromId: "root", summary: SENTENCE, isMerge: true }],
    "a branch summary of an extension": [
      {
        type: "branch_summary",
        fromId: "root",
        fromHook: true,
        details: { by: "me" },
        summary: `## Notes\n- ${SENTENCE}`,
      },
    ],
    "a branch summary of pi": [
      {
        type: "branch_summary",
        fromId: "root",
        details: { readFiles: [], modifiedFiles: [] },
        summary: `The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n## Goal\n${SENTENCE}`,
      },
    ],
    "a message with a branch summary": [
      message({ role: "branchSummary", summary: SENTENCE, fromId: "root" }),
    ],
  },
  compactionSummary: {
    "an earlier compaction": [
      { type: "compaction", summary: SENTENCE, firstKeptEntryId: "none", tokensBefore: 10 },
    ],
    "a message with a compaction summary": [message({ role: "compactionSummary", summary: SENTENCE })],
  },
};

/** Entries with program output: a digest keeps only its names. */
const OUTPUTS: ReadonlySet<string> = new Set(["a tool result", "a command of the user"]);

function sessionWith(drafts: readonly EntryDraft[], fillerChars: number): Session {
  const session = createSession({ cwd: "/work" });
  session.append(says("user", "Mend the oak door."));
  session.append(says("assistant", "It is mended."));
  for (const draft of drafts) session.append(draft);
  session.append(
    says("user", `Then look at the window. ${"words of a long letter ".repeat(fillerChars / 23)}`),
  );
  session.append(says("assistant", "Done."));
  session.append(says("user", "Now the roof."));
  session.append(says("assistant", "The roof is next."));
  return session;
}

const cases = Object.values(SHOWN).flatMap((row) => Object.entries(row));

test("a digest keeps the sentences of commands, branches and messages of extensions", () =>
  everyRow(
    cases.flatMap(([name, drafts]) => [
      { name, drafts, size: "short", chars: 3_000 },
      { name, drafts, size: "long", chars: 60_000 },
    ]),
  )(async ({ name, drafts, chars }) => {
    const session = sessionWith(drafts, chars);
    const { summary, loss } = await compacted(session);
    expect(`${summary}\n${JSON.stringify(loss)}`).toContain("ZETA9");
    if (!OUTPUTS.has(name)) expect(summary).toContain(SENTENCE);
  }));

test("a second digest still has these sentences", () =>
  everyRow(Object.entries({ ...SHOWN.branchSummary, ...SHOWN.custom }))(async ([, drafts]) => {
    const session = sessionWith(drafts, 60_000);
    await compacted(session);
    session.append(says("user", `Then look at the cellar. ${"some other words ".repeat(3_000)}`));
    session.append(says("assistant", "It is dry."));
    session.append(says("user", "Now the stairs."));
    expect((await compacted(session)).summary).toContain(SENTENCE);
  }));

async function compacted(session: Session): Promise<{ summary: string; loss?: unknown }> {
  const result = await runCompaction({
    session,
    reason: "manual",
    settings,
    model: { contextWindow: 200_000 },
    summariser: scriptedSummariser([new Error("no connection")]),
  });
  expect(result).toMatchObject({ status: "compacted", rung: "digest" });
  const { summary, details } = result.entry!;
  return { summary, loss: (details as { manifest: { loss?: unknown } }).manifest.loss };
}
