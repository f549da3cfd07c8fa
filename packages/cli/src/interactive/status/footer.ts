import { costText } from "@bonsai-agent/messages";
import { usdText } from "@bonsai-agent/messages/numbers";
import type { askedThinking } from "@bonsai-agent/models/host";
import { percent, shortTokens } from "../../views/numbers.ts";
import { oneLine, truncate } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import type { Style, Theme } from "../terminal/theme.ts";
import { type Component, visibleWidth } from "../terminal/tui.ts";

/** The lines at the bottom: where, with which model, how full, what it cost. */
export class Footer implements Component {
  readonly #facts: () => FooterFacts | undefined;
  readonly #theme: Theme;
  #drawn: { facts: FooterFacts | undefined; width: number; lines: string[] } | undefined;

  /** @param facts the same object as long as nothing has changed; undefined before there is a session */
  constructor(facts: () => FooterFacts | undefined, theme: Theme) {
    this.#facts = facts;
    this.#theme = theme;
  }

  render(width: number): string[] {
    const facts = this.#facts();
    const drawn = this.#drawn;
    if (drawn?.facts === facts && drawn?.width === width) return drawn.lines;
    const lines = facts === undefined ? [] : footerLines(facts, width, this.#theme);
    this.#drawn = { facts, width, lines };
    return lines;
  }

  invalidate(): void {
    this.#drawn = undefined;
  }
}

/** How far the number of tokens can be trusted: reported by the provider, estimated, or not counted yet. */
type ContextCertainty = "reported" | "estimate" | "unknown";

/** What the footer shows. */
export interface FooterFacts {
  /** As it is shown: with `~` for the user's home. */
  folder: string;
  /** Absent outside of a git repository. */
  branch?: string | undefined;
  sessionName?: string | undefined;
  /** Absent where no model can be used yet. */
  model?: { provider: string; id: string } | undefined;
  /** What the model is asked for; absent where it is told nothing. */
  thinking?: ReturnType<typeof askedThinking>;
  tokens: number;
  /** Absent where it is unknown. */
  windowTokens?: number | undefined;
  certainty: ContextCertainty;
  costUsd: number;
  /** True where more was spent than is known. Default: false. */
  isCostPartial?: boolean | undefined;
  /** True if the cost is unknown although the model has prices. Default: false. */
  isCostUnknown?: boolean | undefined;
  /** Tokens of all requests, and the share of the input that came from the cache, 0 to 1. Absent before the first. */
  used?: { sent: number; got: number; cachedShare: number } | undefined;
  /** True while a summary is made ahead of its compaction. Default: false */
  isSummarising?: boolean | undefined;
  /** Short texts of extensions. */
  statuses: readonly string[];
}

/** Above these shares of the window the context is shown as a warning, and as an alarm. */
const WARNING_PERCENT = 70;
const ALARM_PERCENT = 90;

const BAR_COLUMNS = 10;

/** The lines at the bottom: where one is, then how full the context is, what it cost, and who answers. */
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
  const { model, thinking } = facts;
  const cost = [...costParts(facts, style), ...usedParts(facts, style)];
  if (model === undefined) return [...cost, noModelPart(style)];
  const ahead = facts.isSummarising ? [left(style.dim, ["summarising in background", 2], ["…", 5])] : [];
  const parts = [...contextParts(facts, style), ...ahead, ...cost, modelPart(model, style)];
  if (thinking) parts.push(right(style.dim, [`thinking ${cut(thinking, 16)}`, 2], [cut(thinking, 16), 4]));
  return parts;
}

/** Leaves out the unknown cost of a model without prices: `/session` shows it. */
function costParts(facts: FooterFacts, style: Theme["style"]): Part[] {
  const { costUsd: usd, isCostPartial = false, isCostUnknown } = facts;
  if (isCostUnknown) return [left(style.muted, ["cost unknown", 4])];
  if (usd <= 0) return [];
  const text = costText({ usd, certainty: isCostPartial ? "atLeast" : "known" });
  return [
    isCostPartial ? left(style.muted, [text, 4], [`≥${usdText(usd)}`, 5]) : left(style.muted, [text, 5]),
  ];
}

/** Gives way before every other part: `/session` shows the tokens too. */
function usedParts({ used }: FooterFacts, style: Theme["style"]): Part[] {
  if (used === undefined) return [];
  const tokens = `↑${shortTokens(used.sent)} ↓${shortTokens(used.got)}`;
  return [left(style.dim, [`${tokens} ${percent(used.cachedShare, 1)} cached`, -2], [tokens, -1])];
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

function contextParts({ tokens, windowTokens, certainty }: FooterFacts, style: Theme["style"]): Part[] {
  const known =
    certainty === "unknown" ? "?" : `${certainty === "estimate" ? "~" : ""}${shortTokens(tokens)}`;
  if (windowTokens === undefined) return [left(style.muted, [`${known} tokens`, 9])];
  const ofWindow = `${known}/${shortTokens(windowTokens)}`;
  if (certainty === "unknown") return [left(style.muted, [ofWindow, 9])];
  const share = percent(tokens, windowTokens);
  const look = levelStyle((tokens / windowTokens) * 100, style);
  return [
    left(look, [contextBar(tokens / windowTokens), 3]),
    left(look, [`${ofWindow} ${share}`, 7], [share, 9]),
  ];
}

function levelStyle(fullPercent: number, style: Theme["style"]): Theme["style"]["muted"] {
  if (fullPercent > ALARM_PERCENT) return (text) => style.bold(style.error(text));
  return fullPercent > WARNING_PERCENT ? style.warning : style.muted;
}

/** Shapes differ, so that it can be read without colours. Something that is not nothing shows, and only what is full looks full. */
function contextBar(share: number): string {
  const most = share >= 1 ? BAR_COLUMNS : BAR_COLUMNS - 1;
  const full = share > 0 ? Math.min(most, Math.max(1, Math.round(share * BAR_COLUMNS))) : 0;
  return "━".repeat(full) + "┄".repeat(BAR_COLUMNS - full);
}

function cut(text: string, columns: number): string {
  return truncate(oneLine(text), columns);
}

/** A text, and how important it is that it is not shorter. */
type Form = readonly [text: string, importance: number];

/** A piece of a line that may have to give way. */
interface Part {
  /** From the longest to the shortest; the first is what one would like to show, after the last comes nothing. */
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

/**
 * One line of what fits, the parts of the right at its right end. As long as there is too little space, the least
 * important form gives way to its next; the last part left is cut.
 */
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
