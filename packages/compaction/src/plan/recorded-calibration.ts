import { type Calibration, contextTokens, tokenEstimator } from "@bonsai-agent/messages";
import { isGoodAnswer, UNSEEN_TOKENS } from "@bonsai-agent/messages/host";
import { tokensText } from "@bonsai-agent/messages/numbers";
import { customTypes, type Entry, type Projection, pinChange, type Session } from "@bonsai-agent/session";
import { compactionChange, projectEntry } from "@bonsai-agent/session/host";
import { calibrationSchema, manifestOf } from "../details.ts";

/** An estimate can be this many times too low or too high. */
export const MAX_ESTIMATE_ERROR = 2.5;
/** Two counts of one context by a provider differ by less. */
export const MAX_COUNT_ERROR = 1.25;

/** The place in a session whose records are read. */
interface Place {
  session: Session;
  leafId: string | null;
  projection: Projection;
}

/** The newest stored calibration on the path that no usage contradicts. */
export function recordedCalibration({ session, leafId, projection }: Place): Calibration | undefined {
  for (const entry of session.tail(leafId, projection)) {
    const known = calibrationIn(entry);
    if (known !== undefined && !isContradicted(session, entry)) return known;
  }
  return undefined;
}

function calibrationIn(entry: Entry): Calibration | undefined {
  if (entry.type === "custom" && entry.customType === customTypes.calibration)
    return calibrationSchema.safeParse(entry.data).data;
  if (entry.type !== "compaction") return undefined;
  return manifestOf(entry)?.calibration;
}

/** Records and their ancestors never change. */
const verdicts = new WeakMap<Entry, boolean>();

/** Reads only entries that the model still sees, so that opening a session reads nothing more. */
function isContradicted(session: Session, record: Entry): boolean {
  const verdict = verdicts.get(record) ?? contradicts(session, record, true);
  verdicts.set(record, verdict);
  return verdict;
}

/**
 * True for a stored calibration that usage rules out: its overhead, or the size of the context that it was learned from,
 * is above the usage of the answer before it and everything since. Older versions stored the claims of refusals.
 */
function contradicts(session: Session, record: Entry, isInViewOnly: boolean): boolean {
  const calibration = calibrationIn(record);
  if (calibration === undefined) return false;
  const { ratio, overheadTokens } = calibration;
  if (ratio > MAX_ESTIMATE_ERROR || ratio < 1 / MAX_ESTIMATE_ERROR) return true;
  let sinceTokens = record.type === "compaction" ? tokenEstimator.text(String(record.summary)) : 0;
  let claimedTokens = Math.max(overheadTokens, sizeBefore(record));
  for (const entry of olderEntries(session, record, isInViewOnly)) {
    const message = projectEntry(entry)?.message;
    if (message !== undefined && isGoodAnswer(message))
      return (
        claimedTokens > contextTokens(message.usage) * MAX_COUNT_ERROR + sinceTokens * MAX_ESTIMATE_ERROR
      );
    // A record that repeats an older one has its verdict.
    if (calibrationIn(entry)?.overheadTokens === overheadTokens)
      return contradicts(session, entry, isInViewOnly);
    if (changesContext(entry)) claimedTokens = overheadTokens;
    else if (message !== undefined) sinceTokens += tokenEstimator.message(message);
  }
  // Without an answer, only a claim is in doubt: older versions stored claims after an overflow.
  const manifest = record.type === "compaction" ? manifestOf(record) : undefined;
  const mayBeClaimed = manifest?.reason === "overflow" && manifest.isMeasured !== true;
  return mayBeClaimed && overheadTokens > UNSEEN_TOKENS + sinceTokens * MAX_ESTIMATE_ERROR;
}

function sizeBefore(record: Entry): number {
  return (record.type === "compaction" && manifestOf(record)?.tokensBefore) || 0;
}

/** Maximum entries to search for an answer: a damaged file may contain a cycle. */
const MAX_OLDER_ENTRIES = 1_000;

/** The entries before a record, newest first. */
function* olderEntries(session: Session, record: Entry, isInViewOnly: boolean): Generator<Entry> {
  let keptFrom: string | undefined;
  let entry: Entry | undefined = record;
  for (let steps = 0; steps < MAX_OLDER_ENTRIES; steps += 1) {
    if (entry.type === "compaction") keptFrom ??= entry.firstKeptEntryId;
    if (entry.parentId === null || (isInViewOnly && entry.id === keptFrom)) return;
    entry = session.entry(entry.parentId);
    if (entry === undefined) return;
    yield entry;
  }
}

/** True for an entry that makes earlier usage useless for the size of the context. */
export function changesContext(entry: Entry): boolean {
  if (compactionChange(entry) !== undefined) return true;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** A calibration that usage rules out, for the list of a file's problems. */
export interface ContradictedSize {
  line: number;
  entryId: string;
  message: string;
}

/** The stored sizes of all branches that usage rules out, in file order. Reads the records of compactions. */
export function* contradictedSizes(session: Session): Generator<ContradictedSize> {
  for (const { id, type, line } of session.index().records()) {
    if (type !== "compaction" && type !== "custom") continue;
    const entry = session.entry(id);
    if (entry === undefined || !contradicts(session, entry, false)) continue;
    const overhead = tokensText(calibrationIn(entry)?.overheadTokens ?? 0, true);
    yield {
      line,
      entryId: id,
      message: `A stored size contradicts the usage of the answers: ${overhead} beside the messages.`,
    };
  }
}
