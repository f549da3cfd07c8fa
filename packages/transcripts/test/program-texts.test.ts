import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contentText } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { importTranscript } from "../src/index.ts";

type Row = Record<string, unknown>;

/** The user's own texts in the imported session. */
function userTexts(rows: readonly Row[], name: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "program-texts-"));
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const { entries } = importTranscript({ path });
  return entries.flatMap((entry) => {
    return entry.type === "message" && entry.message.role === "user"
      ? [contentText(entry.message.content)]
      : [];
  });
}

function claudeCode(...rows: Row[]): string[] {
  const base = { sessionId: "s-1", cwd: "/p", version: "2.1.0", timestamp: "2026-02-10T09:00:00.000Z" };
  const chained = rows.map((row, at) => ({
    ...base,
    uuid: `u${at}`,
    parentUuid: at === 0 ? null : `u${at - 1}`,
    ...row,
  }));
  return userTexts(chained, "claude.jsonl");
}

const user = (content: unknown, more: Row = {}): Row => ({
  type: "user",
  message: { role: "user", content },
  ...more,
});
const queued = (prompt: unknown, more: Row): Row => ({
  type: "attachment",
  attachment: { type: "queued_command", prompt, ...more },
});

test("Claude Code: the record's own word decides who wrote a message", () => {
  expect(
    claudeCode(
      user("Mend it.", { origin: { kind: "human" } }),
      user("All agents are idle.", { origin: { kind: "coordinator" } }),
      user("A note of the program.", { isMeta: true }),
      user("Another one.", { isSynthetic: true }),
      queued("Keep the names.", { commandMode: "prompt" }),
      queued("Agent 7 has finished.", { commandMode: "agent-notification" }),
      queued("A peer asks.", { commandMode: "prompt", origin: { kind: "peer" } }),
      user("Go on."),
    ),
  ).toEqual(["Mend it.", "Keep the names.", "Go on."]);
});

test("Claude Code: where the record says nothing, the text's form does", () => {
  expect(
    claudeCode(
      user("Mend it."),
      user("Operation stopped by hook: run the tests first"),
      user("<agent-notification>\n<status>done</status>\n</agent-notification>"),
      user("<local-command-caveat>Caveat: see below.</local-command-caveat>"),
      user("Why is <agent-notification> shown?"),
    ),
  ).toEqual(["Mend it.", "Why is <agent-notification> shown?"]);
});

test("Gemini: what the program says to have the model go on is not the user's", () => {
  const at = { timestamp: "2026-02-10T09:00:00.000Z" };
  expect(
    userTexts(
      [
        {
          sessionId: "g-1",
          projectHash: "h",
          startTime: at.timestamp,
          lastUpdated: at.timestamp,
          kind: "main",
        },
        { id: "1", ...at, type: "user", content: [{ text: "Mend it." }] },
        { id: "2", ...at, type: "gemini", content: "Half.", model: "gemini" },
        { id: "3", ...at, type: "user", content: [{ text: "System: Please continue." }] },
        { id: "4", ...at, type: "gemini", content: "Done.", model: "gemini" },
      ],
      "session-2026.jsonl",
    ),
  ).toEqual(["Mend it."]);
});
