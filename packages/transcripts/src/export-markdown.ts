import { summaryLoss } from "@bonsai-agent/compaction";
import { BonsaiError, costText } from "@bonsai-agent/messages";
import { counted, count as digits } from "@bonsai-agent/messages/numbers";
import { type ContextEditEntry, type Entry, type SessionHeader, UsageCounter } from "@bonsai-agent/session";
import { isLeafRecord, isRestored, UndoneCompactions } from "@bonsai-agent/session/host";
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
  const labels = new Map(
    all.flatMap((entry) => (entry.type === "label" ? [[entry.targetId, entry.label]] : [])),
  );
  const outside = new TextForMarkdown(options.secrets);
  const markdownOf = (part: readonly Entry[]) => {
    const fates = fatesOf(part);
    const bodies = part.map((entry) =>
      entryMarkdown(entry, { ...fates(entry), label: labels.get(entry.id) }, outside),
    );
    return bodies.filter((body) => body !== "");
  };
  const parts = [documentHead(session.header, { all, entries, outside, isFree: options.isFree })];
  parts.push(...markdownOf(path));
  for (const branch of branches)
    parts.push(`# Branch from ${outside.name(branch.from)}`, ...markdownOf(branch.entries));
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

/** The facts about each entry of a path from later entries. */
function fatesOf(path: readonly Entry[]): (entry: Entry) => EntryFate {
  const edits = new Map<string, ContextEditEntry>();
  const undone = new UndoneCompactions();
  for (const entry of path) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  for (const entry of path.toReversed()) undone.addOlder(entry);
  const parents = new Map(path.map((entry, at) => [entry, path[at - 1]]));
  return (entry) => ({
    edit: isRestored(entry, edits.get(entry.id)) ? undefined : edits.get(entry.id),
    undone: undone.has(entry.id),
    loss: entry.type === "compaction" ? summaryLoss(entry, parents.get(entry)) : undefined,
  });
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

interface HeadFacts extends Pick<MarkdownOptions, "isFree"> {
  all: readonly Entry[];
  /** The entries of the document. */
  entries: readonly Entry[];
  outside: TextForMarkdown;
}

function documentHead(header: SessionHeader, { all, entries, outside, isFree }: HeadFacts): string {
  const used = new UsageCounter();
  for (const entry of entries) used.add(entry);
  const { input, output, cacheRead, cacheWrite } = used.usage;
  const messages = entries.filter((entry) => entry.type === "message");
  const models = messages.flatMap(({ message }) =>
    message?.role === "assistant" ? [`${message.provider}/${message.model}`] : [],
  );
  const modelNames = [...new Set(models)].map((model) => outside.name(model));
  const name = all.findLast((entry) => entry.type === "session_info")?.name;
  const rows = [
    ["Session", outside.name(header.id)],
    ["Folder", outside.name(header.cwd)],
    ["Started", outside.plain(header.timestamp)],
    ["Last activity", outside.plain(entries.at(-1)?.timestamp ?? header.timestamp)],
    ["Models", modelNames.join(", ") || "none"],
    ["Messages", digits(messages.length)],
    [
      "Tokens",
      `${digits(input)} input, ${digits(cacheRead)} cache read, ${digits(cacheWrite)} cache write, ${digits(output)} output`,
    ],
    ["Cost", costText(used.cost.cost(isFree))],
  ];
  const table = rows.map(([label, value]) => `| ${label} | ${value} |`);
  return `# ${outside.plain(name ?? "Session")}\n\n| | |\n| --- | --- |\n${table.join("\n")}`;
}
