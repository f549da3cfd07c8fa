import { type CompactionOutcome, type CompactionResult, manifestOf } from "@bonsai-agent/compaction";
import type { CompactionEntry } from "@bonsai-agent/session";
import { requestWords } from "./compact-view.ts";
import { errorText } from "./error-text.ts";
import { counted, sizeChange, tokensText } from "./numbers.ts";
import { oneLine } from "./terminal-text.ts";

interface Notice {
  level: "info" | "error";
  message: string;
}

/** The end of a compaction, from its events. */
export interface EndedCompaction {
  outcome: CompactionOutcome;
  entry?: CompactionEntry | undefined;
  maskedResults?: number;
  error?: Error | undefined;
}

/** The notice of a compaction. Failed automatic ones have a warning or the error of their run instead. */
export function compactionNotice(ended: EndedCompaction): Notice | undefined {
  const { outcome, error } = ended;
  switch (outcome.status) {
    case "compacted":
      return { level: "info", message: compactedText(ended) };
    case "masked":
      return { level: "info", message: maskedText(ended) };
    case "skipped":
      return outcome.reason === "manual" ? skippedNotice(outcome) : undefined;
    case "cancelled":
      return { level: "info", message: cancelledText(outcome) };
    case "failed": {
      const message = error === undefined ? outcome.detail : errorText(error);
      return outcome.reason === "manual" ? { level: "error", message } : undefined;
    }
  }
}

type RungName = NonNullable<CompactionResult["rung"]>;

const ways: Readonly<Record<RungName, string>> = {
  mask: "by masking old tool results",
  extension: "with an extension's summary",
  provider: "with a summary by the provider",
  summarise: "with a summary",
  chunks: "with a summary in several parts",
  digest: "with the built-in digest",
  media: "with a summary and without images",
  truncate: "with a summary and shortened tool results",
};

function compactedText({ outcome, entry, maskedResults = 0 }: EndedCompaction): string {
  // An extension's own details are no manifest.
  const { rung, requests = 0, costUsd = null, isEdited } = manifestOf(entry) ?? {};
  const how = [
    entry?.fromHook === true ? foreignWay(outcome) : wayOf(rung),
    isEdited === true ? "edited by you" : "",
    requests === 0 ? "" : requestWords({ requests, costUsd }),
    maskedResults === 0 ? "" : `${counted(maskedResults, "old tool result")} masked`,
    ...cutTexts(outcome),
  ].filter(Boolean);
  const done =
    entry?.replacesCompactionId === undefined ? "Compacted" : "Compacted again from the original messages";
  const text = `${done}: ${sizeChange(outcome)}${how.length === 0 ? "" : `, ${how.join("; ")}`}.`;
  return [text, ...caveat(outcome)].join(" ");
}

/** @param rung any text in an edited file */
function wayOf(rung: RungName | undefined): string {
  return rung !== undefined && Object.hasOwn(ways, rung) ? ways[rung] : "";
}

/** Extensions are named as they were loaded. */
function foreignWay({ decidedBy }: CompactionOutcome): string {
  return decidedBy === undefined ? ways.extension : `with the summary of ${oneLine(decidedBy)}`;
}

/** Messages that were shortened or lost their images. */
function cutTexts({ steps }: CompactionOutcome): string[] {
  const { shortened = 0, withoutMedia = 0 } = steps ?? {};
  return [
    ...(shortened === 0 ? [] : [`shortened ${counted(shortened, "large message")}`]),
    ...(withoutMedia === 0 ? [] : [`removed the images of ${counted(withoutMedia, "message")}`]),
  ];
}

function maskedText({ outcome, maskedResults = 0 }: EndedCompaction): string {
  const freed = outcome.tokensBefore - outcome.tokensAfter;
  const masked = maskedResults === 0 ? [] : [`masked ${counted(maskedResults, "old tool result")}`];
  const done = [...masked, ...cutTexts(outcome)].join(" and ");
  const text = `${done.slice(0, 1).toUpperCase()}${done.slice(1)}, freeing ${tokensText(freed, true)}: ${sizeChange(outcome)}. The session file keeps the full text.`;
  return [text, ...caveat(outcome)].join(" ");
}

/** Warns about the digest, or about a context that is still too large or larger than before. */
function caveat(outcome: CompactionOutcome): string[] {
  const { tokensBefore, tokensAfter, reason, caveat } = outcome;
  const more = caveat === undefined ? [] : [caveat];
  return reason === "manual" && tokensAfter >= tokensBefore
    ? [...more, "The summary is longer than the messages it replaced. Undo it with /undo."]
    : more;
}

type Skipped = Pick<CompactionOutcome, "detail" | "isAllRecent">;

/** Explains why `/compact` did nothing. */
export function skippedNotice({ detail, isAllRecent }: Skipped): Notice {
  const more = isAllRecent
    ? " To keep less, lower keepRecentTokens in /settings. A focus only changes the summary."
    : "";
  return { level: "info", message: `${detail}${more}` };
}

function cancelledText(outcome: CompactionOutcome): string {
  if (outcome.isDeclined) return "Compaction cancelled. Nothing changed.";
  const by = outcome.decidedBy === undefined ? "" : ` by ${oneLine(outcome.decidedBy)}`;
  const text = `Compaction cancelled${by}. Nothing changed.`;
  const { cancelReason } = outcome;
  return cancelReason === undefined ? text : `${text} ${cancelReason}`;
}
