import { type LostFacts, lostCounts } from "@bonsai-agent/compaction/host";
import { type Line, paragraph, span } from "./line.ts";
import { count } from "./numbers.ts";
import { oneLine } from "./terminal-text.ts";

/** The facts that one recorded compaction lost. */
export interface CompactionLoss {
  entryId: string;
  /** ISO 8601. */
  timestamp: string;
  lost: LostFacts;
}

const MAX_TERMS = 40;

/** Lists the losses of each compaction: all actions, failures and messages, and the most useful terms. */
export function* lossesView(losses: readonly CompactionLoss[], width: number): Generator<Line> {
  if (losses.length === 0) yield ["There is no compaction."];
  for (const [at, { timestamp, lost }] of losses.entries()) {
    if (at > 0) yield [];
    yield [span(compactionTitle(timestamp, countsText(lost)), "bold")];
    for (const { command, result } of lost.irreversible)
      yield* item("cannot be undone", command, result, width);
    for (const { key, line } of lost.failing) yield* item("still failed", key, line, width);
    for (const { text } of lost.said) yield* item("user", text, undefined, width);
    if (lost.terms.length === 0) continue;
    const more = lost.terms.length - MAX_TERMS;
    const terms = lost.terms.slice(0, MAX_TERMS).join(", ");
    yield* item("terms", more > 0 ? `${terms} and ${count(more)} more` : terms, undefined, width);
  }
}

export function compactionTitle(timestamp: string, text: string): string {
  return `Compaction of ${timestamp.slice(0, 16).replace("T", " ")}: ${text}`;
}

function countsText({ irreversible, failing, said, terms }: LostFacts): string {
  const [acts, failures] = [irreversible.length, failing.length];
  const counts = lostCounts({
    irreversible: acts,
    failing: failures,
    said: said.length,
    terms: terms.length,
  });
  return counts === undefined ? "lost nothing" : `lost ${counts}`;
}

const MAX_TEXT_CHARS = 2_000;

function* item(kind: string, text: string, detail: string | undefined, width: number): Generator<Line> {
  const rest = detail === undefined || detail === "" ? "" : `: ${detail}`;
  yield* paragraph(`${kind}: ${oneLine(`${text}${rest}`, MAX_TEXT_CHARS)}`, width, undefined, 2);
}
