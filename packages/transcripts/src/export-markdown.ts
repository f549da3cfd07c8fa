import { summaryLoss } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import { BonsaiError, costText, type KnownCost, type Usage } from "@bonsai-agent/messages";
import { counted, count as digits } from "@bonsai-agent/messages/numbers";
import { type ContextEditEntry, type Entry, type SessionHeader, UsageCounter } from "@bonsai-agent/session";
import { isLeafRecord, UndoneCompactions } from "@bonsai-agent/session/host";
import { type EntryFate, entryMarkdown } from "./markdown/entry.ts";
import { TextForMarkdown } from "./markdown/text-for-markdown.ts";

/** The part of a `Session` that an export needs. */
export interface ExportedSession {
  readonly header: SessionHeader;
  readonly leafId: string | null;
  /** All entries in file order. */
  entries(): readonly Entry[];
  /** From a root to `leafId`, oldest first. */
  path(leafId?: string | null): readonly Entry[];
}

export interface MarkdownOptions {
  /** End of the branch to export. Default: the current position. */
  leafId?: string;
  /** Adds the other branches after the chosen one. Default: false. */
  all?: boolean;
  /** True for a `provider/model` that is known to be free. Default: none is. */
  isFree?: ((model: string) => boolean) | undefined;
  /** Stored keys, which are redacted in any form. Default: none. */
  secrets?: readonly string[] | undefined;
}

/**
 * Exports a session as Markdown: the whole history of a branch, also before compactions, with secrets redacted. The same
 * session gives the same text.
 * @throws BonsaiError `entry_not_found` when there is no entry `leafId`.
 */
export function exportMarkdown(session: ExportedSession, options: MarkdownOptions = {}): string {
  const leafId = options.leafId ?? session.leafId;
  const path = session.path(leafId);
  if (options.leafId !== undefined && path.length === 0) throw noSuchEntry(options.leafId);
  const all = session.entries();
  const branches = options.all ? otherBranches(all, path) : [];
  const entries = [...path, ...branches.flatMap((branch) => branch.entries)];
  const labels = labelsOf(all);
  const outside = new TextForMarkdown(options.secrets);
  const parts = [
    documentHead(session, { all, entries, outside, isFree: options.isFree }),
    ...pathMarkdown({ path, labels, outside }),
  ];
  for (const branch of branches) {
    parts.push(
      `# Branch from ${outside.name(branch.from)}`,
      ...pathMarkdown({ path: branch.entries, labels, outside }),
    );
  }
  if (outside.secrets > 0) parts.push(`*${counted(outside.secrets, "secret")} redacted.*`);
  return `${parts.join("\n\n")}\n`;
}

function noSuchEntry(id: string): BonsaiError {
  return new BonsaiError({
    code: "entry_not_found",
    message: `This session has no entry ${id}.`,
    hint: "Run `bonsai session tree FILE` to list the ids.",
  });
}

/** The Markdown of each entry of a path. */
function pathMarkdown({
  path,
  labels,
  outside,
}: {
  path: readonly Entry[];
  labels: ReadonlyMap<string, string | undefined>;
  outside: TextForMarkdown;
}): string[] {
  const fates = fatesOf(path);
  return path
    .map((entry) => entryMarkdown(entry, { ...fates(entry.id), label: labels.get(entry.id) }, outside))
    .filter((part) => part !== "");
}

function fatesOf(path: readonly Entry[]): (id: string) => EntryFate {
  const edits = new Map<string, ContextEditEntry>();
  const undone = new UndoneCompactions();
  for (const entry of path) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  for (const entry of path.toReversed()) undone.addOlder(entry);
  const losses = new Map(path.map((entry, at) => [entry.id, lossOf(entry, path[at - 1])]));
  return (id) => ({ edit: edits.get(id), undone: undone.has(id), loss: losses.get(id) });
}

function lossOf(entry: Entry, before: Entry | undefined): SummaryLoss | undefined {
  return entry.type === "compaction" ? summaryLoss(entry, before) : undefined;
}

/** Labels of all branches; the latest in file order counts. */
function labelsOf(entries: readonly Entry[]): Map<string, string | undefined> {
  const labels = new Map<string, string | undefined>();
  for (const entry of entries) if (entry.type === "label") labels.set(entry.targetId, entry.label);
  return labels;
}

interface Branch {
  /** The entry where it begins. */
  from: string;
  entries: Entry[];
}

/** The other branches in file order, each from its first entry that is not shown yet. */
function otherBranches(all: readonly Entry[], path: readonly Entry[]): Branch[] {
  const shown = new Set(path.map((entry) => entry.id));
  const byId = new Map(all.map((entry) => [entry.id, entry]));
  const parents = new Set(all.filter((entry) => !isLeafRecord(entry)).map((entry) => entry.parentId));
  const branches: Branch[] = [];
  for (const leaf of all) {
    if (isLeafRecord(leaf) || parents.has(leaf.id) || shown.has(leaf.id)) continue;
    const entries: Entry[] = [];
    let at: Entry | undefined = leaf;
    for (; at !== undefined && !shown.has(at.id); at = byId.get(at.parentId ?? "")) {
      shown.add(at.id);
      entries.push(at);
    }
    entries.reverse();
    branches.push({ from: entries[0]?.parentId ?? "the beginning", entries });
  }
  return branches;
}

function documentHead(
  session: ExportedSession,
  {
    all,
    entries,
    outside,
    isFree,
  }: Pick<MarkdownOptions, "isFree"> & {
    all: readonly Entry[];
    entries: readonly Entry[];
    outside: TextForMarkdown;
  },
): string {
  const used = new UsageCounter();
  for (const entry of entries) used.add(entry);
  const { header } = session;
  const name = all.findLast((entry) => entry.type === "session_info")?.name;
  const rows = [
    ["Session", outside.name(header.id)],
    ["Folder", outside.name(header.cwd)],
    ["Started", outside.plain(header.timestamp)],
    ["Last activity", outside.plain(entries.at(-1)?.timestamp ?? header.timestamp)],
    [
      "Models",
      modelNames(entries)
        .map((model) => outside.name(model))
        .join(", ") || "none",
    ],
    ["Messages", digits(entries.filter((entry) => entry.type === "message").length)],
    ...usageRows(used.usage, used.cost.cost(isFree)),
  ];
  const table = rows.map(([label, value]) => `| ${label} | ${value} |`);
  return `# ${outside.plain(name ?? "Session")}\n\n| | |\n| --- | --- |\n${table.join("\n")}`;
}

function modelNames(entries: readonly Entry[]): string[] {
  const names = new Set<string>();
  for (const entry of entries) {
    if (entry.type === "message" && entry.message?.role === "assistant") {
      names.add(`${entry.message.provider}/${entry.message.model}`);
    }
  }
  return [...names];
}

function usageRows(usage: Usage, cost: KnownCost): string[][] {
  const { input, output, cacheRead, cacheWrite } = usage;
  const tokens = [
    `${digits(input)} input`,
    `${digits(cacheRead)} cache read`,
    `${digits(cacheWrite)} cache write`,
    `${digits(output)} output`,
  ];
  return [
    ["Tokens", tokens.join(", ")],
    ["Cost", costText(cost)],
  ];
}
