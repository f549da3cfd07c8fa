import { summariserSizes } from "@bonsai-agent/agent";
import { type CompactionResult, type CompactionSettings, planCompaction } from "@bonsai-agent/compaction";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { planPicture } from "../../plan-picture.ts";
import { plannedCost } from "../../planned-cost.ts";
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
  /** It would summarise; undefined where there is none. */
  model: CatalogueModel | undefined;
  /** What every request holds beside its messages. */
  fixedTexts: () => readonly string[];
}): CompactionPreview {
  const { session, model } = asked;
  const { items } = session.projection();
  const summariser = model && summariserSizes(model);
  const result = planCompaction({
    ...{ ...asked, model: model ?? {}, reason: "manual" },
    ...(summariser && { summariser }),
  });
  const picture = planPicture(result, items);
  const cost = model && plannedCost(result, model);
  return { result, lines: (width) => previewLines(width) };

  function* previewLines(width: number): Generator<Line> {
    for (const text of wrap(NOTE, width)) yield [span(text, "gray")];
    yield* compactView({ result, picture, cost, file: undefined, width });
  }
}

const NOTE = "What /compact would do; nothing is done yet.";
