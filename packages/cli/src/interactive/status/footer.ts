import { costPhrase, type KnownCost } from "@bonsai-agent/messages";
import type { askedThinking } from "@bonsai-agent/models/host";
import { percent, shortTokens } from "../../views/numbers.ts";
import { oneLine, truncate } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import type { Style, Theme } from "../terminal/theme.ts";
import { visibleWidth } from "../terminal/tui.ts";

export interface FooterFacts {
  /** As shown, with `~` for the user's home. */
  folder: string;
  /** Absent outside of a git repository. */
  branch?: string | undefined;
  sessionName?: string | undefined;
  /** Absent if no model is available yet. */
  model?: { provider: string; id: string } | undefined;
  /** The requested thinking; absent if the request does not name it. */
  thinking?: ReturnType<typeof askedThinking>;
  tokens: number;
  /** Absent if unknown. */
  windowTokens?: number | undefined;
  /** True if the provider has not reported all tokens. */
  isEstimate: boolean;
  cost?: KnownCost | undefined;
  /** Tokens of all requests, and the share of the input that came from the cache, 0 to 1. Absent before the first. */
  used?: { sent: number; got: number; cachedShare: number } | undefined;
  /** True while a summary is made ahead of its compaction. Default: false */
  isSummarising?: boolean | undefined;
  statuses: readonly string[];
}

/** Above these shares of the window the context is shown as a warning, and as an alarm. */
const WARNING_PERCENT = 70;
const ALARM_PERCENT = 90;

const BAR_COLUMNS = 10;

/** The two lines at the bottom: folder, branch and session; context, cost and model. */
export function footerLines(facts: FooterFacts, width: number, theme: Theme): string[] {
  return [placeParts(facts, theme), workParts(facts, theme)].map((parts) => {
    const line = fitParts(parts, Math.max(0, width - 2));
    return width < 3 || line === "" ? "" : ` ${line}`;
  });
}

function placeParts({ folder, branch, sessionName, statuses }: FooterFacts, { style }: Theme): Part[] {
  const path = oneLine(folder);
  const lastName = path.slice(path.lastIndexOf("/") + 1) || path;
  const parts = [left(style.muted, [path, 5], [lastName, 9])];
  if (branch) parts.push(left(style.accent, [cut(branch, 40), 7], [cut(branch, 16), 8]));
  if (sessionName) parts.push(left(style.dim, [cut(sessionName, 60), 3], [cut(sessionName, 24), 6]));
  const status = statuses
    .map((each) => oneLine(each))
    .filter(Boolean)
    .join(" · ");
  if (status !== "") parts.push(right(style.dim, [cut(status, 80), 2], [cut(status, 30), 4]));
  return parts;
}

function workParts(facts: FooterFacts, { style }: Theme): Part[] {
  const { model, thinking, cost, used, isSummarising } = facts;
  const parts =
    model === undefined ? [noModelPart(style)] : [...contextParts(facts, style), modelPart(model, style)];
  if (model !== undefined && isSummarising)
    parts.push(left(style.dim, ["summarising in background", 2], ["…", 5]));
  if (cost !== undefined && (cost.usd > 0 || cost.certainty === "unknown"))
    parts.push(left(style.muted, [costPhrase(cost), 5]));
  if (used !== undefined) {
    // The first to go: `/session` shows the tokens too.
    const tokens = `↑${shortTokens(used.sent)} ↓${shortTokens(used.got)}`;
    parts.push(left(style.dim, [`${tokens} ${percent(used.cachedShare, 1)} cached`, -2], [tokens, -1]));
  }
  if (model !== undefined && thinking)
    parts.push(right(style.dim, [`thinking ${cut(thinking, 16)}`, 2], [cut(thinking, 16), 4]));
  return parts;
}

function modelPart({ provider, id }: { provider: string; id: string }, style: Theme["style"]): Part {
  const shortId = id.slice(id.lastIndexOf("/") + 1) || id;
  return right(
    style.muted,
    [cut(`${provider}/${id}`, 80), 0],
    [cut(`${provider}/${shortId}`, 48), 1],
    [cut(shortId, 40), 6],
    [cut(shortId, 20), 8],
  );
}

function noModelPart(style: Theme["style"]): Part {
  return right(
    style.warning,
    ["no model: store a key with /login", 1],
    ["no model: /login", 4],
    ["no model", 8],
  );
}

function contextParts({ tokens, windowTokens, isEstimate }: FooterFacts, style: Theme["style"]): Part[] {
  const size = `${isEstimate ? "~" : ""}${shortTokens(tokens)}`;
  if (windowTokens === undefined) return [left(style.muted, [`${size} tokens`, 9])];
  const share = percent(tokens, windowTokens);
  const look = levelStyle((tokens / windowTokens) * 100, style);
  return [
    left(look, [contextBar(tokens / windowTokens), 3]),
    left(look, [`${size}/${shortTokens(windowTokens)} ${share}`, 7], [share, 9]),
  ];
}

function levelStyle(fullPercent: number, style: Theme["style"]): Theme["style"]["muted"] {
  if (fullPercent > ALARM_PERCENT) return (text) => style.bold(style.error(text));
  return fullPercent > WARNING_PERCENT ? style.warning : style.muted;
}

/** Readable without colours. Only a full context looks full, and only an empty one empty. */
function contextBar(share: number): string {
  const max = share >= 1 ? BAR_COLUMNS : BAR_COLUMNS - 1;
  const full = share > 0 ? Math.min(max, Math.max(1, Math.round(share * BAR_COLUMNS))) : 0;
  return "━".repeat(full) + "┄".repeat(BAR_COLUMNS - full);
}

function cut(text: string, columns: number): string {
  return truncate(oneLine(text), columns);
}

/** A text, and its importance compared with shorter forms of other parts. */
type Form = readonly [text: string, importance: number];

interface Part {
  /** From the longest to the shortest. After the last, the part is left out. */
  forms: readonly [Form, ...Form[]];
  style: Style;
  side: "left" | "right";
}

function left(style: Style, ...forms: Part["forms"]): Part {
  return { forms, style, side: "left" };
}

function right(style: Style, ...forms: Part["forms"]): Part {
  return { forms, style, side: "right" };
}

const GAP = "  ";

/** One line. While it is too long, the least important form is replaced by the next form of its part. */
function fitParts(parts: readonly Part[], width: number): string {
  let shown = parts;
  while (shown.length > 0 && widthOf(shown) > width) {
    const least = shown.reduce((a, b) => (b.forms[0][1] < a.forms[0][1] ? b : a));
    const [[text], next, ...others] = least.forms;
    if (next === undefined && shown.length === 1) return least.style(cutText(text, width));
    const shorter: Part[] = next === undefined ? [] : [{ ...least, forms: [next, ...others] }];
    shown = shown.flatMap((each) => (each === least ? shorter : [each]));
  }
  const [leftText, rightText] = (["left", "right"] as const).map((side) =>
    shown
      .filter((part) => part.side === side)
      .map(({ style, forms: [[text]] }) => style(text))
      .join(GAP),
  ) as [string, string];
  if (rightText === "") return leftText;
  return `${leftText}${" ".repeat(width - visibleWidth(leftText) - visibleWidth(rightText))}${rightText}`;
}

function widthOf(parts: readonly Part[]): number {
  const texts = parts.map(({ forms: [[text]] }) => visibleWidth(text));
  return texts.reduce((sum, each) => sum + each, 0) + GAP.length * (parts.length - 1);
}
