import { branchDiff, type CompactionSettings, readContext } from "@bonsai-agent/compaction";
import { type KnownCost, knownUsd, SecretFilter, type Usage } from "@bonsai-agent/messages";
import { type Entry, entryParts, type Session } from "@bonsai-agent/session";
import { callIn, kindOf, previewText } from "./preview.ts";
import { FactCounter, type IsFree } from "./session-facts.ts";

type BranchSide = ReturnType<typeof branchDiff>["a"];

/** The JSON of `bonsai session diff`. */
export interface BranchDiffReport extends Pick<ReturnType<typeof branchDiff>, "relation" | "sharedFiles"> {
  /** Null where the two places have no entry in common. */
  commonAncestor: PlaceReport | null;
  /** Entries from the root down to it. */
  commonEntries: number;
  a: BranchSideReport;
  b: BranchSideReport;
}

/** One place in the tree. */
export interface PlaceReport {
  entryId: string;
  /** In a word: user, assistant, compaction, … */
  kind: string;
  preview: string;
  label?: string;
  /** ISO 8601. */
  timestamp: string;
}

/** What was done on one side since the two parted. */
export interface BranchSideReport
  extends Pick<
    BranchSide,
    "turns" | "files" | "commands" | "words" | "compactions" | "branchSummaries" | "lastAnswer"
  > {
  /** Null for the place before every entry. */
  leaf: PlaceReport | null;
  /** Oldest first. */
  entryIds: string[];
  /** ISO 8601: its first and last message; null without one. */
  firstActivity: string | null;
  lastActivity: string | null;
  /** Of all that was asked of models on this side. */
  usage: Usage;
  /** Null where not all of it is known. */
  costUsd: number | null;
  cost: KnownCost;
  /** The whole context at its end. */
  context: { tokens: number; isEstimate: boolean };
}

interface BranchDiffReportOptions {
  session: Session;
  settings: CompactionSettings;
  a: string | null;
  b: string | null;
  isFree: IsFree;
  /** Default: it redacts nothing. */
  secrets?: SecretFilter;
}

const noSecrets = new SecretFilter([], false);

/** Two places of a session beside each other. @throws BonsaiError `tree_target_unknown` */
export function branchDiffReport({
  secrets = noSecrets,
  ...given
}: BranchDiffReportOptions): BranchDiffReport {
  const options = { ...given, secrets };
  const { session } = options;
  const { commonAncestor, a, b, ...diff } = branchDiff(options);
  return secrets.value({
    relation: diff.relation,
    commonAncestor: commonAncestor && placeOf(session, commonAncestor, secrets),
    commonEntries: diff.commonEntries,
    a: sideReport(a, options),
    b: sideReport(b, options),
    sharedFiles: diff.sharedFiles,
  });
}

function sideReport(
  side: BranchSide,
  { session, settings, isFree, secrets = noSecrets }: BranchDiffReportOptions,
): BranchSideReport {
  const { leafId, entries, ...done } = side;
  const counter = new FactCounter();
  for (const entry of entries) counter.add(entry);
  const { firstActivity, lastActivity, usage, cost: sum } = counter.facts();
  const cost = sum.cost(isFree);
  const leaf = leafId === null ? undefined : session.entry(leafId);
  const { tokens, source } = readContext({ session, estimator: settings.estimator, leafId });
  return {
    leaf: leaf === undefined ? null : placeOf(session, leaf, secrets),
    entryIds: entries.map(({ id }) => id),
    firstActivity,
    lastActivity,
    usage,
    costUsd: knownUsd(cost),
    cost,
    context: { tokens, isEstimate: source === "estimate" },
    ...done,
  };
}

function placeOf(session: Session, entry: Entry, secrets: SecretFilter): PlaceReport {
  const label = session.label(entry.id);
  return {
    entryId: entry.id,
    kind: kindOf(entry),
    preview: previewText(entryParts(secrets.value(entry), secrets.value(callIn(session, entry))), 200),
    ...(label !== undefined && { label }),
    timestamp: entry.timestamp,
  };
}
