import type { CompactionResult } from "@bonsai-agent/compaction";
import { originalProjection } from "@bonsai-agent/compaction/host";
import type { ToolCall } from "@bonsai-agent/messages";
import { messageParts, type ProjectionItem, type Session } from "@bonsai-agent/session";
import {
  bar,
  fileListLines,
  fitLine,
  kindStyle,
  type Line,
  lineWidth,
  paragraph,
  type Span,
  type Style,
  span,
} from "./line.ts";
import { counted, hasEstimate, percent, percents, scopeText, tokenDigits, tokensText } from "./numbers.ts";
import { callsOf, kindWord, type Preview, previewSpan } from "./preview.ts";

interface Look {
  glyph: string;
  name: string;
  style: Style;
}

const looks: Readonly<Record<Fate | "summary", Look>> = {
  fixed: { glyph: "▪", name: "fixed", style: "gray" },
  masked: { glyph: "·", name: "masked", style: "gray" },
  shortened: { glyph: "╌", name: "shortened", style: "gray" },
  summarised: { glyph: "░", name: "summarised", style: "yellow" },
  turnPrefix: { glyph: "▒", name: "turn start", style: "yellow" },
  kept: { glyph: "█", name: "kept", style: "green" },
  summary: { glyph: "▓", name: "summary", style: "magenta" },
};

/** The context as a stack with its cut, oldest on top; then the sizes and the files. */
export function* planView(picture: PlanPicture, width: number): Generator<Line> {
  yield* stack(picture, width);
  yield [];
  yield* sizes(picture, width);
  if (picture.scope !== undefined) yield* paragraph(picture.scope, width, "gray");
  yield* fileListLines("Files modified", picture.modifiedFiles, width);
  yield* fileListLines("Files read", picture.readFiles, width);
}

const stackRows = 10;

function* stack(picture: PlanPicture, width: number): Generator<Line> {
  const box = width < 60 ? 6 : 12;
  const shares = percents(picture.parts.map(({ tokens }) => tokens));
  yield boxLine([`┌${"─".repeat(box)}┐`], place(picture.first), width);
  let isCut = false;
  for (const [at, part] of picture.parts.entries()) {
    const isBehindCut = part.fate === "masked" || part.fate === "shortened" || part.fate === "kept";
    if (isBehindCut && !isCut) yield cutLine(picture, box, width);
    isCut ||= isBehindCut;
    yield* partLines(part, { box, total: picture.tokensBefore, share: shares[at]!, width });
  }
  yield boxLine([`└${"─".repeat(box)}┘`], place(picture.last), width);
}

function cutLine(picture: PlanPicture, box: number, width: number): Line {
  const label = picture.splitsTurn ? "cut inside a turn" : "cut";
  const edge = span(`╞${"═".repeat(box)}╡`, ["bold", "red"]);
  return boxLine([edge], [span(`${label} `, ["bold", "red"]), ...place(picture.cut)], width);
}

interface PartSize {
  box: number;
  total: number;
  share: string;
  width: number;
}

function* partLines(part: PlanPart, size: PartSize): Generator<Line> {
  const look = looks[part.fate];
  const rows = Math.max(1, Math.round((part.tokens / Math.max(1, size.total)) * stackRows));
  const legendAt = Math.floor((rows - 1) / 2);
  for (let row = 0; row < rows; row += 1) {
    const fill: Line = ["│", span(look.glyph.repeat(size.box), look.style), "│"];
    yield boxLine(fill, row === legendAt ? legend(part, look, size) : [], size.width);
  }
}

function legend(part: PlanPart, look: Look, { share, width }: PartSize): Line {
  const name = span(look.name.padEnd(11), ["bold", ...styles(look.style)]);
  if (width < 60) return [name, ` ${tokenDigits(part.tokens, true)} `, span(share, "gray")];
  const items = part.items === 0 ? "" : counted(part.items, "item");
  return [
    name,
    ` ${items.padStart(11)}  ${tokensText(part.tokens, true).padStart(14)}  `,
    span(share.padStart(4), "gray"),
    span(part.fate === "fixed" ? "  prompt and tools" : "", "gray"),
  ];
}

const maxBarWidth = 60;

function* sizes(picture: PlanPicture, width: number): Generator<Line> {
  const { tokensBefore, tokensAfter, summaryTokens } = picture;
  const before = parts(picture);
  const [fixed, kept] = (["fixed", "kept"] as const).map((fate) =>
    before.filter((part) => part.fate === fate),
  );
  const after = [...fixed!, { value: summaryTokens, ...looks.summary }, ...kept!];
  const share = ` (${percent(tokensAfter, tokensBefore)})`;
  const sizeBefore = tokenDigits(tokensBefore, picture.isEstimateBefore);
  const sizeAfter = tokenDigits(tokensAfter, true);
  const numberWidth = Math.max(sizeBefore.length, sizeAfter.length);
  const barWidth = Math.max(
    8,
    Math.min(maxBarWidth, width - label("").length - numberWidth - share.length - 1),
  );
  const whole = Math.max(tokensBefore, tokensAfter);
  yield [label("before"), ...bar(before, barWidth, whole), ` ${sizeBefore.padStart(numberWidth)}`];
  yield [
    label("after"),
    ...bar(after, barWidth, whole),
    ` ${sizeAfter.padStart(numberWidth)}`,
    span(share, ["bold", "green"]),
  ];
  if (summaryTokens > 0) yield sizeNote(looks.summary, summaryNote(picture), width);
  for (const part of picture.parts)
    if (part.fate === "masked" || part.fate === "shortened")
      yield sizeNote(looks[part.fate], cutNote(part, picture), width);
}

function summaryNote({ summaryTokens, isSummaryExpected }: PlanPicture): string {
  const more = isSummaryExpected ? ", not written yet" : "";
  return `summary, ${tokensText(summaryTokens, true)}${more}`;
}

function cutNote({ fate, tokens }: PlanPart, { maskedItems, shortenedItems }: PlanPicture): string {
  const of = fate === "masked" ? counted(maskedItems, "old tool result") : counted(shortenedItems, "message");
  return `${fate}: ${of}, ${tokenDigits(tokens, true)}`;
}

function label(text: string): string {
  return text.padEnd(8);
}

function parts(picture: PlanPicture): (Look & { value: number; fate: Fate })[] {
  return picture.parts.map(({ fate, tokens }) => ({ fate, value: tokens, ...looks[fate] }));
}

function sizeNote(look: Look, text: string, width: number): Line {
  const indent = width < 60 ? "" : label("");
  return fitLine([indent, span(look.glyph, look.style), ` ${text}`], width);
}

function boxLine(left: Line, right: Line, width: number): Line {
  const gap = "  ";
  return [...left, gap, ...fitLine(right, width - lineWidth(left) - gap.length)];
}

function place(at: PlanPlace | undefined): Span[] {
  if (at === undefined) return [];
  return [
    span(at.entryId, "gray"),
    span(" "),
    span(at.kind, kindStyle(at.kind)),
    span(" "),
    previewSpan(at.preview),
  ];
}

function styles(style: Style): Extract<Style, readonly unknown[]> {
  return (Array.isArray(style) ? style : [style]) as Extract<Style, readonly unknown[]>;
}

/** How a compaction treats a part of the context. */
type Fate = "fixed" | "summarised" | "turnPrefix" | "masked" | "shortened" | "kept";

/** A stretch of the context with one fate. */
interface PlanPart {
  fate: Fate;
  items: number;
  tokens: number;
}

interface PlanPlace {
  entryId: string;
  kind: string;
  preview: Preview;
}

/** A planned or finished compaction as a picture. */
export interface PlanPicture {
  /**
   * In the order of the context, without empty parts.
   * Invariant: they add up to `tokensBefore`; the fixed and kept parts and the summary add up to `tokensAfter`.
   */
  parts: readonly PlanPart[];
  first: PlanPlace | undefined;
  /** The first kept item, if any. */
  cut: PlanPlace | undefined;
  last: PlanPlace | undefined;
  splitsTurn: boolean;
  maskedItems: number;
  /** Kept messages without their images, or cut to head and tail. */
  shortenedItems: number;
  tokensBefore: number;
  /** Names both sizes if no part does. */
  scope: string | undefined;
  /** True if `tokensBefore` is partly estimated. All other sizes always are. */
  isEstimateBefore: boolean;
  tokensAfter: number;
  /** The text that replaces the summarised parts. */
  summaryTokens: number;
  /** True if the summary is not written yet. */
  isSummaryExpected: boolean;
  readFiles: readonly string[];
  modifiedFiles: readonly string[];
}

/** The messages that a compaction reads; if it replaces the latest one, the messages that this one read. */
export function messagesBefore(session: Session, replacesLatest: boolean): readonly ProjectionItem[] {
  const { items, compaction } = session.projection();
  return replacesLatest && compaction !== undefined ? originalProjection(session).items : items;
}

/** The picture of a compaction or a plan, over the context before it. */
export function planPicture(result: CompactionResult, before: readonly ProjectionItem[]): PlanPicture {
  const { tokensBefore, estimatedTokensBefore } = result;
  const { sizes, steps, keptEntryIds, turnPrefixEntryIds, maskedEntryIds } = result;
  const kept = result.status === "masked" ? before.length : keptEntryIds.length;
  const parts: PlanPart[] = [
    { fate: "fixed", items: 0, tokens: sizes.fixedTokens },
    {
      fate: "summarised",
      // The summary of an earlier compaction is in none of the lists.
      items: before.length - turnPrefixEntryIds.length - kept,
      tokens: sizes.summarisedTokens,
    },
    { fate: "turnPrefix", items: turnPrefixEntryIds.length, tokens: sizes.turnPrefixTokens },
    { fate: "masked", items: 0, tokens: sizes.maskedTokens },
    { fate: "shortened", items: 0, tokens: sizes.shortenedTokens },
    { fate: "kept", items: kept, tokens: sizes.keptTokens },
  ];
  const calls = callsOf(before.map(({ message }) => message));
  const placeAt = (at: number) => placeOf(before[at], calls[at]);
  return {
    parts: parts.filter(({ items, tokens }) => items > 0 || tokens > 0),
    first: placeAt(0),
    cut: placeAt(before.findIndex(({ entryId }) => entryId === result.firstKeptEntryId)),
    last: placeAt(before.length - 1),
    splitsTurn: result.splitTurn,
    maskedItems: maskedEntryIds.length,
    shortenedItems: (steps?.shortened ?? 0) + (steps?.withoutMedia ?? 0),
    tokensBefore,
    scope: scopeText({ fixedTokens: sizes.fixedTokens, isEstimate: estimatedTokensBefore === tokensBefore }),
    isEstimateBefore: hasEstimate({ estimatedTokens: estimatedTokensBefore }),
    tokensAfter: result.tokensAfter,
    summaryTokens: sizes.summaryTokens,
    isSummaryExpected: result.summary === undefined && sizes.summaryTokens > 0,
    readFiles: result.readFiles,
    modifiedFiles: result.modifiedFiles,
  };
}

function placeOf(item: ProjectionItem | undefined, call: ToolCall | undefined): PlanPlace | undefined {
  if (item === undefined) return undefined;
  const { entryId, message } = item;
  return { entryId, kind: kindWord(message.role), preview: messageParts(message, call) };
}
