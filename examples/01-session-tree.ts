/**
 * The session tree as a library: an append-only file, its branches, and the model's view.
 *
 *     node 01-session-tree.ts
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AssistantMessage, emptyUsage, messageText } from "@bonsai-agent/messages";
import { createSession, type Entry, openSession, type Session } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";

const file = join(mkdtempSync(join(tmpdir(), "session-tree-")), "session.jsonl");
const session = createSession({ cwd: process.cwd(), file });
session.append({ type: "session_info", name: "Choosing a cache" });

// Each append writes one line, which becomes the parent of the next one.
const question = ask("Which cache should we use?");
const redis = answer("Redis: it is there already.");
ask("Then write the adapter.");
answer("Done, in src/redis-cache.ts.");

// Moving back overwrites nothing: the next append starts a second branch.
session.moveTo(question.id);
session.append({ type: "label", targetId: redis.id, label: "first try" });
answer("An in-memory cache: one process, no server to run.");
ask("Better. How large may it grow?");

printTree(session);
console.log(
  `\nThe model sees: ${session
    .projection()
    .items.map(({ message }) => message.role)
    .join(", ")}`,
);
const search = new SessionSearch({ index: false });
const { hits } = await search.find("adapter", { scope: { session } });
for (const { entryId } of hits)
  console.log(`"adapter" was said in: ${session.path(entryId).map(saidIn).filter(Boolean).join(" / ")}`);
session.close();

// The file keeps the current position.
const reopened = openSession(file);
const last = reopened.projection().items.at(-1)!;
console.log(`Reopened "${reopened.name}" at: ${messageText(last.message)}`);
console.log(`The file has ${readFileSync(file, "utf8").split("\n").filter(Boolean).length} lines.`);

function ask(content: string): Entry {
  return session.append({ type: "message", message: { role: "user", content, timestamp: Date.now() } });
}

function answer(text: string): Entry {
  const message: AssistantMessage = {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "example",
    provider: "example",
    model: "example",
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: Date.now(),
  };
  return session.append({ type: "message", message });
}

/** Prints the tree, with branches indented. A star marks the current path. */
function printTree(tree: Session): void {
  const active = new Set(tree.path().map(({ id }) => id));
  const below = Map.groupBy(tree.entries(), ({ parentId }) => parentId);
  const print = (parentId: string | null, indent: string): void => {
    const children = below.get(parentId) ?? [];
    const place = children.length > 1 ? `${indent}    ` : indent;
    for (const entry of children) {
      const label = tree.label(entry.id);
      const mark = active.has(entry.id) ? "*" : " ";
      if (saidIn(entry)) console.log(`${mark} ${place}${saidIn(entry)}${label ? `  [${label}]` : ""}`);
      print(entry.id, place);
    }
  };
  print(null, "");
}

function saidIn(entry: Entry): string {
  return entry.type === "message" ? messageText(entry.message) : "";
}
