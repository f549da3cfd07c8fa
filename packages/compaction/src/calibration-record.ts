import type { Calibration } from "@bonsai-agent/messages";
import {
  CALIBRATION_CUSTOM_TYPE,
  type CompactionEntry,
  type Entry,
  type EntryDraftWithId,
  type Session,
} from "@bonsai-agent/session";
import { ownDetails } from "./own-details.ts";
import { tailEntries } from "./tail-entries.ts";

/** The entry to write, where no manifest of ours can keep it, beside a change that makes all earlier usage count no more; none where nothing is known. */
export function calibrationDrafts(calibration: Calibration | undefined): EntryDraftWithId[] {
  if (calibration === undefined || calibration.samples === 0) return [];
  return [{ type: "custom", customType: CALIBRATION_CUSTOM_TYPE, data: calibration }];
}

/** What the latest compaction or masking knew of the session's tokens. */
export function recordedCalibration(
  session: Session,
  leafId: string | null,
  compaction: CompactionEntry | undefined,
): Calibration | undefined {
  for (const entry of tailEntries(session, leafId, compaction)) {
    const known = calibrationIn(entry);
    if (known !== undefined) return known;
  }
  return undefined;
}

function calibrationIn(entry: Entry): Calibration | undefined {
  if (entry.type === "custom" && entry.customType === CALIBRATION_CUSTOM_TYPE) return whole(entry.data);
  if (entry.type !== "compaction") return undefined;
  const { manifest } = ownDetails(entry) as { manifest?: { calibration?: unknown } };
  return whole(manifest?.calibration);
}

function whole(value: unknown): Calibration | undefined {
  const { ratio, overheadTokens, samples } = (value ?? {}) as Partial<Calibration>;
  const isWhole =
    typeof ratio === "number" && typeof overheadTokens === "number" && typeof samples === "number";
  return isWhole ? { ratio, overheadTokens, samples } : undefined;
}
