import type { Entry, SessionTree } from "@bonsai-agent/session";
import { callInTree, previewOf } from "./preview.ts";

/** One row of `bonsai session tree --json`, in file order. */
export interface TreeRow {
  id: string;
  parentId: string | null;
  type: string;
  /** Of a message. */
  role?: string;
  preview: string;
  label?: string;
  /** True on the path from a root to the current position. */
  active: boolean;
}

/** All entries of all branches, a row at a time. @param tree of parsed entries */
export function* treeRows(tree: SessionTree): Generator<TreeRow> {
  for (const at of tree.entries.keys()) yield treeRow(tree, at);
}

function treeRow(tree: SessionTree, at: number): TreeRow {
  const entry = tree.entry(at)!;
  const role = roleOf(entry);
  const label = tree.labelOf(at);
  return {
    id: entry.id,
    parentId: entry.parentId,
    type: entry.type,
    ...(role === undefined ? {} : { role }),
    preview: previewOf(entry, callInTree(tree, at, entry)).slice(0, 200),
    ...(label === undefined ? {} : { label }),
    active: tree.isActive(at),
  };
}

function roleOf(entry: Entry): string | undefined {
  return entry.type === "message" && typeof entry.message?.role === "string" ? entry.message.role : undefined;
}
