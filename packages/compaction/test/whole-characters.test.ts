import { createSession, type EntryDraft, type StoredMessage } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";

const settings = compactionSettings({ keepRecentTokens: 5 }, { estimator: "chars4" });
const message = (body: object): EntryDraft => ({
  type: "message",
  message: { timestamp: 1, ...body } as StoredMessage,
});
const says = (role: "user" | "assistant", text: string) =>
  message({ role, content: [{ type: "text", text }] });

/** With one extra unit before the emojis, each limit falls inside a character. */
const emoji = (shift: number) => `${"x".repeat(shift)}${"😀".repeat(2_000)}`;

test("a digest and its record contain only whole characters", () =>
  everyRow([0, 1])(async (shift) => {
    const session = createSession({ cwd: "/work" });
    const drafts = [
      says("user", `Mend ${emoji(shift)}`),
      says("assistant", `Which one?\n1. ${emoji(shift)}\n2. ${emoji(shift)}\nIs it ${emoji(shift)}?`),
      says("user", "The first one."),
      message({ role: "bashExecution", command: `echo ${emoji(shift)}`, output: emoji(shift), exitCode: 1 }),
      says("assistant", `- [ ] ${emoji(shift)}\n\nDone with ${emoji(shift)}.`),
      { type: "branch_summary", fromId: "root", summary: emoji(shift) } as EntryDraft,
      { type: "custom_message", customType: "note", content: emoji(shift), display: true } as EntryDraft,
      says("user", `Then ${"words of a letter ".repeat(2_000)}`),
      says("assistant", "Done."),
      says("user", "Now the roof."),
    ];
    for (const draft of drafts) session.append(draft);
    const { entry } = await runCompaction({ session, reason: "manual", settings });
    const texts: string[] = [];
    JSON.stringify(entry, (_, value) => {
      if (typeof value === "string") texts.push(value);
      return value;
    });
    expect(texts.filter((text) => !text.isWellFormed() || text.includes("\ufffd"))).toEqual([]);
  }));
