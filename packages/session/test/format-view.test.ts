import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCompanion } from "../src/host.ts";
import { MemoryStore, openSession, type Session } from "../src/index.ts";

/*
 * Other programs read the same files and know nothing of what we record beside the format's own types. This is their
 * whole rule: the latest compaction of the path counts, then all from its first kept entry, with the latest edit of each.
 */
interface Line {
  type: string;
  id: string;
  parentId: string | null;
  [field: string]: unknown;
}

/** What a program sees that knows only the format, as entry ids (a summary as its text) and contents. */
function formatView(lines: readonly Line[], leafId: string | null): string[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const path: Line[] = [];
  for (let line = byId.get(leafId ?? ""); line !== undefined; line = byId.get(line.parentId ?? ""))
    path.unshift(line);
  const at = path.findLastIndex(({ type }) => type === "compaction");
  const visible = at < 0 ? path : [path[at]!, ...keptBy(path, at), ...path.slice(at + 1)];
  const edits = new Map<unknown, unknown>();
  for (const { type, targetId, replacement } of visible)
    if (type === "context_edit") edits.set(targetId, replacement);
  return visible.flatMap((line, place) => {
    if (edits.get(line.id) === null || (line.type === "compaction" && place > 0)) return [];
    const shown = shownBy(line);
    if (shown === undefined) return [];
    const edit = edits.get(line.id) as { content: unknown } | undefined;
    const content = isEditable(line) && edit !== undefined ? edit.content : shown;
    return [`${line.type === "compaction" ? "" : line.id} ${textOf(content)}`];
  });
}

function keptBy(path: readonly Line[], at: number): Line[] {
  const kept = path.slice(0, at).findIndex(({ id }) => id === path[at]!.firstKeptEntryId);
  return kept < 0 ? [] : path.slice(kept, at);
}

/** Undefined for an entry that a model is not shown. */
function shownBy({ type, message, summary, content }: Line): unknown {
  if (type === "compaction" || type === "branch_summary") return summary;
  if (type === "custom_message") return content;
  if (type !== "message") return undefined;
  const { role, command, excludeFromContext, content: said } = message as Record<string, unknown>;
  if (role === "system" || excludeFromContext === true) return undefined;
  return role === "bashExecution" ? command : said;
}

function isEditable({ type, message }: Line): boolean {
  return type === "custom_message" || (message as { role?: string } | undefined)?.role !== "bashExecution";
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  return content.map((block) => block.text ?? JSON.stringify(block)).join("\n");
}

/** The same of our own view. */
function ownView(session: Session, leafId: string | null): string[] {
  return session.projection(leafId).items.map(({ entryId, message }) => {
    const { role } = message;
    const id = role === "compactionSummary" ? "" : entryId;
    if (role === "compactionSummary" || role === "branchSummary") return `${id} ${message.summary}`;
    return `${id} ${role === "bashExecution" ? message.command : textOf(message.content)}`;
  });
}

function newSession() {
  const store = new MemoryStore('{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}\n');
  const lines = () => {
    const bytes = Buffer.alloc(store.size());
    store.read(bytes, 0);
    const [, ...entries] = bytes.toString().trimEnd().split("\n");
    return entries.map((line) => JSON.parse(line) as Line);
  };
  return { store, session: openSession({ store }), lines };
}

describe("a program that knows only the format sees what we see", () => {
  test("law: at every entry of every tree, whatever was compacted, undone, redone, pinned and taken back", () => {
    fc.assert(
      fc.property(treeArbitrary({ own: true, maxSteps: 24 }), (notation) => {
        const { store, session, lines } = newSession();
        history(notation, session);
        const stored = lines();
        const again = openSession({ store });
        for (const entry of session.entries()) {
          if (isCompanion(entry)) continue;
          expect(formatView(stored, entry.id), notation).toEqual(ownView(session, entry.id));
          expect(ownView(again, entry.id)).toEqual(ownView(session, entry.id));
        }
      }),
      { numRuns: 150 },
    );
  });
});
