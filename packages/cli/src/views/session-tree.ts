import { SecretFilter, textHead } from "@bonsai-agent/messages";
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

/**
 * All entries of all branches, a row at a time.
 * @param tree of parsed entries
 * @param secrets redacts the previews. Default: it redacts nothing
 */
export function* treeRows(tree: SessionTree, secrets = new SecretFilter([], false)): Generator<TreeRow> {
  for (const at of tree.entries.keys()) yield treeRow(tree, at, secrets);
}

function treeRow(tree: SessionTree, at: number, secrets: SecretFilter): TreeRow {
  const entry = tree.entry(at)!;
  const role = roleOf(entry);
  const label = tree.labelOf(at);
  return {
    id: entry.id,
    parentId: entry.parentId,
    type: entry.type,
    ...(role === undefined ? {} : { role }),
    preview: textHead(previewOf(secrets.value(entry), secrets.value(callInTree(tree, at, entry))), 200),
    ...(label === undefined ? {} : { label: secrets.text(label) }),
    active: tree.isActive(at),
  };
}

function roleOf(entry: Entry): string | undefined {
  return entry.type === "message" && typeof entry.message?.role === "string" ? entry.message.role : undefined;
}
