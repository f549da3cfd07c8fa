import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

const panels = [
  ["/help", "Commands"],
  ["/tree", "Session tree"],
  ["/merge", "Merge which"],
  ["/fork", "Fork"],
  ["/context", "Context"],
  ["/recall", "Recall"],
  ["/resume", "Sessions"],
  ["/model", "Model"],
  ["/settings", "Settings,"],
  ["/name", "Session name"],
  ["/login", "Log in to"],
  ["/trust", "Trust"],
  ["/compact", "Compact?"],
] as const;

test("every panel opens, is drawn and closes in 20, 40 and 200 columns", () =>
  everyRow([20, 40, 200])(async (columns) => {
    const project = agentProject(says("The answer is 日本語の長いテキスト, and it is 42."));
    const compaction = { confirm: "manual", keepRecentTokens: 1 };
    writeFileSync(join(project.home, "settings.json"), JSON.stringify({ compaction }));
    const { terminal } = openInteractive({ project, columns, rows: 50 });
    await terminal.until("─".repeat(columns));
    terminal.type("What is the question of 日本語の長いテキスト?\n");
    await terminal.until("42");
    for (const [command, word] of panels) {
      terminal.type(command);
      await terminal.until((screen) => screen.includes(command));
      terminal.press("esc");
      await terminal.settle();
      terminal.press("enter");
      await terminal.until(word);
      terminal.press("esc");
      await terminal.until((screen) => screen.match(/^─+$/gm)?.length === 2);
    }
    expect(terminal.isStarted).toBe(true);
  }));
