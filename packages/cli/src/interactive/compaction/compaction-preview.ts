import {
  type CompactionResult,
  type CompactionSettings,
  type ModelSizes,
  planCompaction,
  sessionEstimate,
} from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { planPicture } from "../../plan-picture.ts";
import { compactView } from "../../views/compact-view.ts";
import { type Line, span } from "../../views/line.ts";
import { wrap } from "../../views/text-width.ts";

export interface CompactionPreview {
  /** Other than `planned` where `/compact` would do nothing: then its `detail` says why. */
  result: CompactionResult;
  lines: (width: number) => Iterable<Line>;
}

/** What `/compact` would do now, as `bonsai compact --dry-run` shows it. Asks nobody and writes nothing. */
export function compactionPreview(asked: {
  session: Session;
  settings: CompactionSettings;
  model: ModelSizes;
  /** What every request holds beside its messages. */
  fixedTexts: () => readonly string[];
}): CompactionPreview {
  const { session, settings } = asked;
  const { items } = session.projection();
  const { estimator } = sessionEstimate({ session, settings });
  const result = planCompaction({ ...asked, reason: "manual" });
  const picture = planPicture(result, { items, estimator });
  return { result, lines: (width) => previewLines(width) };

  function* previewLines(width: number): Generator<Line> {
    for (const text of wrap(NOTE + (result.rung === "mask" ? "" : SIZE_NOTE), width))
      yield [span(text, "gray")];
    yield* compactView({ result, picture, file: undefined, width });
  }
}

const NOTE = "What /compact would do; nothing is done yet.";
const SIZE_NOTE = " The size afterwards is without the summary, which is not written yet.";
