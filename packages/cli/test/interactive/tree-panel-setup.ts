import type { Scenario } from "@bonsai-agent/models/scripted";
import { openSession } from "@bonsai-agent/session";
import { modelSummary } from "../call/model-summary.ts";
import { sampleLines, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

export const summary = modelSummary("- the branch that was left");

/** The leaf of the sample session. */
export const oldLeaf = "cccc0007";

/** Opens a session, by default the sample, with steps in its tree. */
export async function openSample(
  lines: readonly object[] = sampleLines(),
  options: Parameters<typeof openInteractive>[0] = {},
) {
  const file = writeLines(lines);
  const scenario: Scenario = {
    contextWindow: 100_000,
    turn: [{ text: "Good." }],
    summary: [{ text: summary }],
    atEnd: "repeat",
  };
  const opened = openInteractive({ columns: 80, rows: 32, scenario, argv: ["--session", file], ...options });
  const { terminal } = opened;
  await terminal.until(/Done: the total|the only answer/);
  return {
    ...opened,
    session: () => openSession(file),
    /** Opens the tree, searches for an entry and chooses it. */
    async choose(search: string) {
      terminal.type("/tree\n");
      await terminal.until("Session tree");
      terminal.type(search);
      await terminal.until(/1\/1$/m);
      terminal.press("enter");
    },
    /** Opens the menu of the selected entry and chooses a row. */
    async act(choice: number) {
      terminal.press("ctrl+a");
      await terminal.until("Choose an action");
      for (let down = 0; down < choice; down += 1) terminal.press("down");
      terminal.press("enter");
    },
    async question(answer: number) {
      await terminal.until("Choose an action");
      for (let down = 0; down < answer; down += 1) terminal.press("down");
      terminal.press("enter");
    },
  };
}

export const at = "2026-11-20T09:00:00.000Z";

export function user(id: string, parentId: string | null, content: string): object {
  return { id, parentId, timestamp: at, type: "message", message: { role: "user", content, timestamp: 0 } };
}

export function answer(id: string, parentId: string, text: string): object {
  const { message } = sampleLines().find((line) => (line as { id?: string }).id === oldLeaf) as {
    message: object;
  };
  return {
    ...{ id, parentId, timestamp: at, type: "message" },
    message: { ...message, content: [{ type: "text", text }] },
  };
}
