import { test } from "vitest";
import { agentProject } from "../call/agent-project.ts";
import { longSession } from "../call/sample-session.ts";
import { play } from "./compaction-setup.ts";
import { openInteractive } from "./harness.ts";

test("an extension hears /undo and /redo with the stored entry", async () => {
  const tell = `export default (bonsai) => bonsai.on("session_compact_undo", ({ entry, compactionEntry, isUndone }, ctx) => {
    const isOfIt = entry.data.compactionId === compactionEntry.id;
    ctx.ui.notify(\`heard \${isUndone ? "undo" : "redo"} \${entry.type} \${isOfIt}\`);
  });`;
  const { terminal } = openInteractive({
    project: agentProject(play, { "tell.js": tell }),
    argv: ["--session", longSession(), "-e", "tell.js"],
  });
  await terminal.until("k/100k");
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/undo\n");
  await terminal.until("heard undo custom true");
  terminal.type("/redo\n");
  await terminal.until("heard redo custom true");
});
