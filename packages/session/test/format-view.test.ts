import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cloneSession,
  createSession,
  MemoryStore,
  openSession,
  repairSession,
  type Session,
} from "../src/index.ts";
import { compactionChange, isCompanion } from "../src/own-entries.ts";

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

/** The view of a program that knows only the format, as entry ids (a summary as its text) and contents. */
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
  if (type === "compaction") return summary;
  if (type === "branch_summary") return summary === "" ? undefined : summary;
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
  const store = new MemoryStore(
    '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}\n',
  );
  const lines = () => {
    const bytes = Buffer.alloc(store.size());
    store.read(bytes, 0);
    const [, ...entries] = bytes.toString().trimEnd().split("\n");
    return entries.map((line) => JSON.parse(line) as Line);
  };
  return { store, session: openSession({ store }), lines };
}

function newHistory(notation: string) {
  const made = newSession();
  const { id } = history(notation, made.session);
  return { ...made, id };
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
    );
  });

  test("an undo restates the compaction before it in its own line, which we read as an undo", () => {
    const { store, session, id, lines } = newHistory('U A U A C(u2)"first" U A C(u3)"second" U');
    const undo = session.undoCompaction(id("c2"));
    expect(lines().at(-1)).toEqual({
      type: "compaction",
      id: undo.id,
      parentId: id("u4"),
      timestamp: undo.timestamp,
      customType: "bonsai.undo",
      data: { compactionId: id("c2") },
      summary: "first",
      firstKeptEntryId: id("u2"),
      tokensBefore: 1000,
    });
    expect(session.leafId).toBe(undo.id);
    const again = openSession({ store });
    expect(again.entry(undo.id)).toEqual(undo);
    expect(compactionChange(again.entry(undo.id)!)).toEqual({ compactionId: id("c2"), isUndone: true });
    expect(again.projection().compaction?.id).toBe(id("c1"));
    expect(again.tree().entries.filter(({ type }) => type === "compaction")).toHaveLength(2);
    expect(again.problems()).toEqual([]);
  });

  test("a redo names the redone compaction", () => {
    const { session, id, lines } = newHistory('U A U A C(u2)"first" U Z(c1) U');
    session.redoCompaction(id("c1"));
    expect(lines().at(-1)).toMatchObject({
      type: "compaction",
      customType: "bonsai.redo",
      summary: "first",
      firstKeptEntryId: id("u2"),
    });
  });

  test("an undo whose write was cut off undoes nothing in any program", () => {
    const { store, session, id, lines } = newHistory("U A U A C(u2) U");
    const before = lines().length;
    const seen = ownView(session, session.leafId);
    session.undoCompaction(id("c1"));
    const stored = lines();
    expect(stored.length).toBe(before + 2);
    const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}';
    const cut = [header, ...stored.slice(0, -1).map((line) => JSON.stringify(line)), ""].join("\n");
    expect(formatView(stored.slice(0, -1), stored.at(-2)!.id)).toEqual(seen);
    const again = openSession({ store: new MemoryStore(cut) });
    expect(ownView(again, again.leafId)).toEqual(seen);
    expect(again.problems()).toEqual([]);
    expect(ownView(openSession({ store }), session.leafId)).toHaveLength(5);
  });

  test("an undo that stands in a file as a record alone counts, and what is written next is seen by all", () => {
    const { store, id, lines } = newHistory("U A U A C(u2) U");
    const record = { type: "custom", customType: "bonsai.undo", data: { compactionId: id("c1") } };
    const place = { id: "undo", parentId: id("u3"), timestamp: "2026-01-05T09:00:00.000Z" };
    store.append(`${JSON.stringify({ ...record, ...place })}\n`);
    const session = openSession({ store });
    expect(session.projection().compaction).toBeUndefined();
    session.redoCompaction(id("c1"));
    session.undoCompaction(id("c1"));
    expect(formatView(lines(), session.leafId)).toEqual(ownView(session, session.leafId));
    expect(ownView(session, session.leafId)).toHaveLength(5);
  });

  test("a copy, a fork and a repaired file keep what others read", () => {
    const folder = mkdtempSync(join(tmpdir(), "bonsai-format-"));
    const file = join(folder, "one.jsonl");
    try {
      const made = history(
        'U A P"keep it" U A C(u2) U Z(c1) Q"keep it" U',
        createSession({ cwd: "/", file }),
      );
      const seen = ownView(made.session, made.session.leafId);
      made.session.close();
      writeFileSync(file, "{not json\n", { flag: "a" });
      const session = openSession(file);
      const repaired = join(folder, "repaired.jsonl");
      repairSession(file, repaired);
      for (const copy of [cloneSession(session, { folder }), repaired]) {
        const stored = readFileSync(copy, "utf8").trimEnd().split("\n").slice(1);
        const lines = stored.map((line) => JSON.parse(line) as Line);
        const opened = openSession(copy);
        expect(ownView(opened, opened.leafId)).toEqual(seen);
        expect(formatView(lines, opened.leafId)).toEqual(seen);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
