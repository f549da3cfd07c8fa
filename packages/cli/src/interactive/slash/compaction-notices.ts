import { type CompactionOutcome, type CompactionResult, manifestOf } from "@bonsai-agent/compaction";
import type { CompactionEntry } from "@bonsai-agent/session";
import { requestWords } from "../../views/compact-view.ts";
import { counted, sizeChange, tokensText } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { Notice } from "../chat/line-block.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** How a compaction ended, as far as its events have it. */
interface EndedCompaction {
  outcome: CompactionOutcome;
  /** The stored entry, where a summary was made. */
  entry?: CompactionEntry | undefined;
  /** Tool results that were masked with it. */
  maskedResults?: number;
  error?: Error | undefined;
}

/**
 * The notice of it; undefined where there is another: the warning of a threshold compaction that
 * failed, the error of the run whose overflow could not be recovered from.
 */
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
  summarise: "with a summary",
  chunks: "with a summary in several parts",
  digest: "with the built-in digest",
  media: "with a summary and without images",
  truncate: "with a summary and shortened tool results",
};

function compactedText({ outcome, entry, maskedResults = 0 }: EndedCompaction): string {
  // An extension's own details are no manifest.
  const { rung, requests = 0, costUsd = null, isEdited } = manifestOf(entry) ?? {};
  const isForeign = entry?.fromHook === true;
  const way = isForeign ? foreignWay(outcome) : rung === undefined ? undefined : wayOf(rung, requests);
  const cost = requests === 0 ? [] : [requestWords({ requests, costUsd })];
  const masked = maskedResults === 0 ? [] : [`${counted(maskedResults, "old tool result")} masked`];
  const cut = cutTexts(outcome);
  const edited = isEdited === true ? ["edited by you"] : [];
  const how = [...(way === undefined ? [] : [way]), ...edited, ...cost, ...masked, ...cut].join("; ");
  const done =
    entry?.replacesCompactionId === undefined ? "Compacted" : "Compacted again from the original messages";
  const text = `${done}: ${sizeChange(outcome)}${how === "" ? "" : `, ${how}`}.`;
  return [text, ...caveat(outcome)].join(" ");
}

/** What was tried in parts can turn out to fit into one. */
function wayOf(rung: RungName, requests: number | undefined): string | undefined {
  const way = rung === "chunks" && requests === 1 ? "summarise" : rung;
  // In an edited file, it may be anything.
  return Object.hasOwn(ways, way) ? ways[way] : undefined;
}

/** Extensions are named as they were loaded. */
function foreignWay({ decidedBy }: CompactionOutcome): string {
  return decidedBy === undefined ? ways.extension : `with the summary of ${oneLine(decidedBy)}`;
}

/** What else was taken from the model's view: messages that stay in part, or without their images. */
function cutTexts({ steps }: CompactionOutcome): string[] {
  return steps === undefined
    ? []
    : [
        ...(steps.shortened === 0 ? [] : [`shortened ${counted(steps.shortened, "large message")}`]),
        ...(steps.withoutMedia === 0
          ? []
          : [`removed the images of ${counted(steps.withoutMedia, "message")}`]),
      ];
}

function maskedText({ outcome, maskedResults = 0 }: EndedCompaction): string {
  const freed = outcome.tokensBefore - outcome.tokensAfter;
  const masked = maskedResults === 0 ? [] : [`masked ${counted(maskedResults, "old tool result")}`];
  const done = [...masked, ...cutTexts(outcome)].join(" and ");
  const text = `${done.slice(0, 1).toUpperCase()}${done.slice(1)}, freeing ${tokensText(freed, true)}: ${sizeChange(outcome)}. The session file keeps the full text.`;
  return [text, ...caveat(outcome)].join(" ");
}

/** Why it was the digest's, that the context is too large still, or that there is more of it now. */
function caveat(outcome: CompactionOutcome): string[] {
  const { tokensBefore, tokensAfter, reason, caveat } = outcome;
  const more = caveat === undefined ? [] : [caveat];
  return reason === "manual" && tokensAfter >= tokensBefore
    ? [...more, "The summary is longer than the messages it replaced. Undo it with /undo."]
    : more;
}

type Skipped = Pick<CompactionOutcome, "detail" | "isAllRecent">;

/** Why there was nothing to do for the user's own `/compact`, and what would change that. */
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

/**
 * Shows each compaction when it has ended: the chat as the session is now, and below it what was done. That one failed
 * for the threshold, or that the breaker opened, is a notice of the agent's.
 */
export function followCompactions({ host, chat, notify }: InteractiveContext): void {
  const { lifecycle } = host.app;
  let maskedResults = 0;
  let error: Error | undefined;
  /** An extension that refuses every automatic compaction does so before every request. */
  let refusal: string | undefined;
  lifecycle.on("auto_compaction_start", () => {
    maskedResults = 0;
    error = undefined;
  });
  lifecycle.on("session_mask", ({ entries }) => {
    maskedResults = entries.length;
  });
  lifecycle.on("session_compact_failed", (failed) => {
    error = failed.error;
  });
  lifecycle.on("auto_compaction_end", ({ outcome, result }) => {
    const { session } = host.agent;
    const hasChanged = outcome.status === "compacted" || outcome.status === "masked";
    if (hasChanged) chat.rebuild(session, "compaction");
    const earlier = refusal;
    refusal = outcome.cancelReason;
    if (refusal !== undefined && refusal === earlier && outcome.reason !== "manual") return;
    const notice = compactionNotice({ outcome, entry: result, maskedResults, error });
    const aboutEntryId = session.leafId ?? undefined;
    if (notice !== undefined)
      notify(notice.message, notice.level, hasChanged ? { aboutEntryId } : { attempt: "compaction" });
  });
}
