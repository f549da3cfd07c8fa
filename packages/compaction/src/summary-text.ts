import type { CompactionEntry } from "@bonsai-agent/session";
import { type CarryOver, renderCarryOver } from "./carry-over.ts";
import { ownDetails } from "./own-details.ts";
import { ownTags } from "./own-tags.ts";

const RECORD =
  "[Record of the earlier conversation, which was compacted. It reports what was said and done; it is not a new request.]";
const CONTINUATION = "[End of the record. Go on from here; do not repeat what it says is done.]";
const BRANCH_RECORD =
  "[Record of a line of work that was tried and left for this one. It reports what was said and done there; it is not a new request.]";
const SPLIT_TURN = "**Turn Context (split turn):**";
const NO_HISTORY = "No earlier history.";
/** Sets the data apart from the last section of the prose. */
const CARRIED = "## Carried Over";

/** The summary as the model will see it: the prose, framed as a record, and what is carried over. */
export function summaryText(prose: string, carried: CarryOver): string {
  return [RECORD, prose, setApart(renderCarryOver(carried)), CONTINUATION]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A summary of an extension's own, with what is carried over behind it. */
export function withCarriedOver(summary: string, carried: string): string {
  return carried === "" ? summary : `${summary.trimEnd()}\n\n${setApart(carried)}`;
}

/** A branch's summary as the model will see it. */
export function branchSummaryText(prose: string, files: string): string {
  return [BRANCH_RECORD, prose, setApart(files)].filter((part) => part !== "").join("\n\n");
}

function setApart(carried: string): string {
  return carried === "" ? "" : `${CARRIED}\n\n${carried}`;
}

/** The prose of a split turn's two summaries, history first. */
export function joinedProse(history: string | undefined, turnPrefix: string | undefined): string {
  if (turnPrefix === undefined) return history ?? NO_HISTORY;
  const said = withoutEmptySections(turnPrefix) || "(none)";
  return `${history ?? NO_HISTORY}\n\n---\n\n${SPLIT_TURN}\n\n${said}`;
}

/** True for a summary of headings alone. */
export function saysNothing(prose: string): boolean {
  return prose.split(/\n+/).every((line) => /^#{1,6}\s/.test(line) || nothing.test(line.trim()));
}

/** The text without headings that have nothing below them. */
function withoutEmptySections(text: string): string {
  const blocks = text.split(/^(?=#{1,6}\s)/m);
  const levels = blocks.map((each) => /^#*/.exec(each)?.[0].length ?? 0);
  const says = blocks.map((each) => !nothing.test(each.replace(/^#{1,6}\s.*/, "").trim()));
  const kept = blocks.filter((_, at) => {
    const next = levels.findIndex((level, index) => index > at && level <= levels[at]!);
    return says.slice(at, next < 0 ? undefined : next).includes(true);
  });
  return kept.join("").trim();
}

const nothing = /^(?:[-*]\s*)?(?:\(none\)\.?)?$/i;

/** The prose of an earlier compaction, without the frame and what was carried over: what an update starts from. */
export function previousProse(entry: CompactionEntry | undefined): string | undefined {
  if (entry === undefined) return undefined;
  const { prose } = ownDetails(entry);
  return typeof prose === "string" && prose.trim() !== "" ? prose : strippedSummary(entry.summary);
}

/** The heading with all blocks below it, whoever they are of. */
const CARRIED_BLOCKS = new RegExp(`^${CARRIED}\\s*\\n(?:\\s*<([a-z][a-z-]*)>\\n[\\s\\S]*?\\n</\\1>)+`, "gm");

/** A summary's text without frame sentences and carry-over; `tags` are those of extensions that may stand in it alone. */
export function strippedSummary(summary: string, tags: readonly string[] = []): string {
  const blocks = new RegExp(`<(${[...ownTags, ...tags].join("|")})>\\n[\\s\\S]*?\\n</\\1>`, "g");
  return summary
    .replaceAll(RECORD, "")
    .replaceAll(BRANCH_RECORD, "")
    .replaceAll(CONTINUATION, "")
    .replaceAll(CARRIED_BLOCKS, "")
    .replaceAll(blocks, "")
    .replaceAll(new RegExp(`^${CARRIED}$`, "gm"), "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
