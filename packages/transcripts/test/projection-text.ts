import { contentBlocks, type Message } from "@bonsai-agent/messages";
import { type Entry, project } from "@bonsai-agent/session";
import type { ImportedSession } from "@bonsai-agent/transcripts";

/** The entries from a root to the leaf, oldest first. */
export function pathTo(entries: readonly Entry[], leafId: string): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  for (let entry = byId.get(leafId); entry !== undefined; entry = byId.get(entry.parentId ?? ""))
    path.push(entry);
  return path.reverse();
}

/** The model's context of an imported session, one line per message. */
export function projectionText(session: ImportedSession, leafId = session.leafId): string[] {
  return project(pathTo(session.entries, leafId)).items.map((item) => messageLine(item.message));
}

export function messageLine(message: Message): string {
  switch (message.role) {
    case "user":
      return `U ${blocksText(message.content)}`;
    case "assistant":
      return `A ${blocksText(message.content)}${message.stopReason === "error" ? " (failed)" : ""}`;
    case "toolResult":
      return `${message.isError ? "R!" : "R"} ${message.toolName} ${blocksText(message.content)}`;
    case "custom":
      return `[${message.customType}] ${blocksText(message.content)}`;
    case "compactionSummary":
      return `S(${message.tokensBefore}) ${message.summary}`;
    case "branchSummary":
      return `B ${message.summary}`;
    default:
      return message.role;
  }
}

function blocksText(content: unknown): string {
  return contentBlocks(content)
    .map((block) => {
      if (block.type === "text") return String(block.text).replaceAll("\n", " ").slice(0, 70);
      if (block.type === "thinking") return `~${block.thinking}~`;
      if (block.type === "toolCall")
        return `${block.name}(${Object.values(block.arguments as object).join(",")})`;
      return `<${block.type}>`;
    })
    .join(" | ");
}
