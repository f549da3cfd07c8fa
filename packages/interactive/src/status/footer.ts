import { percent } from "@bonsai-agent/app/numbers";
import { oneLine, truncate } from "@bonsai-agent/app/terminal-text";
import { costText, usdText } from "@bonsai-agent/messages";
import type { ThinkingLevel } from "@bonsai-agent/models";
import { cutText } from "../terminal/screen.ts";
import type { Style, Theme } from "../terminal/theme.ts";
import { type Component, visibleWidth } from "../terminal/tui.ts";

interface Drawn {
  facts: FooterFacts | undefined;
  width: number;
  lines: string[];
}

/** The lines at the bottom: where, with which model, how full, what it cost. */
export class Footer implements Component {
  readonly #facts: () => FooterFacts | undefined;
  readonly #theme: Theme;
  #drawn: Drawn | undefined;

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

/** How far the number of tokens can be trusted: told by the provider, estimated, or not counted yet. */
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
  /** Absent for a model that cannot think. */
  thinking?: ThinkingLevel | undefined;
  tokens: number;
  /** Absent where it is unknown. */
  windowTokens?: number | undefined;
  certainty: ContextCertainty;
  costUsd: number;
  /** True where more was spent than is known. Default: false. */
  isCostPartial?: boolean | undefined;
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
  const parts: Part[] = [
    {
      forms: [
        [path, 5],
        [lastName, 9],
      ],
      style: style.muted,
    },
  ];
  if (branch)
    parts.push({
      forms: [
        [cut(branch, 40), 7],
        [cut(branch, 16), 8],
      ],
      style: style.accent,
    });
  if (sessionName)
    parts.push({
      forms: [
        [cut(sessionName, 60), 3],
        [cut(sessionName, 24), 6],
      ],
      style: style.dim,
    });
  const told = statuses
    .map((each) => oneLine(each))
    .filter(Boolean)
    .join(" · ");
  if (told !== "")
    parts.push({
      forms: [
        [cut(told, 80), 2],
        [cut(told, 30), 4],
      ],
      style: style.dim,
      side: "right",
    });
  return parts;
}

function workParts(facts: FooterFacts, { style }: Theme): Part[] {
  const { model, thinking, costUsd } = facts;
  const cost: Part[] = costUsd > 0 ? [{ forms: costForms(facts), style: style.muted }] : [];
  if (model === undefined) return [...cost, noModelPart(style)];
  const parts = [...contextParts(facts, style), ...cost, modelPart(model, style)];
  if (thinking)
    parts.push({
      forms: [
        [`thinking ${cut(thinking, 16)}`, 2],
        [cut(thinking, 16), 4],
      ],
      style: style.dim,
      side: "right",
    });
  return parts;
}

/** A cost that is not known at all is no news at the bottom: `/session` tells it. */
function costForms({ costUsd: usd, isCostPartial = false }: FooterFacts): Part["forms"] {
  const text = costText({ usd, certainty: isCostPartial ? "atLeast" : "known" });
  return isCostPartial
    ? [
        [text, 4],
        [`≥${usdText(usd)}`, 5],
      ]
    : [[text, 5]];
}

function modelPart({ provider, id }: { provider: string; id: string }, style: Theme["style"]): Part {
  const shortId = id.slice(id.lastIndexOf("/") + 1) || id;
  return {
    forms: [
      [cut(`${provider}/${id}`, 80), 0],
      [cut(`${provider}/${shortId}`, 48), 1],
      [cut(shortId, 40), 6],
      [cut(shortId, 20), 8],
    ],
    style: style.muted,
    side: "right",
  };
}

function noModelPart(style: Theme["style"]): Part {
  return {
    forms: [
      ["no model: /login stores a key, /model chooses", 1],
      ["no model: /login, /model", 4],
      ["no model", 8],
    ],
    style: style.warning,
    side: "right",
  };
}

function contextParts({ tokens, windowTokens, certainty }: FooterFacts, style: Theme["style"]): Part[] {
  const known =
    certainty === "unknown" ? "?" : `${certainty === "estimate" ? "~" : ""}${shortTokens(tokens)}`;
  if (windowTokens === undefined) return [{ forms: [[`${known} tokens`, 9]], style: style.muted }];
  const ofWindow = `${known}/${shortTokens(windowTokens)}`;
  if (certainty === "unknown") return [{ forms: [[ofWindow, 9]], style: style.muted }];
  const share = percent(tokens, windowTokens);
  const look = levelStyle((tokens / windowTokens) * 100, style);
  return [
    { forms: [[contextBar(tokens / windowTokens), 3]], style: look },
    {
      forms: [
        [`${ofWindow} ${share}`, 7],
        [share, 9],
      ],
      style: look,
    },
  ];
}

function levelStyle(fullPercent: number, style: Theme["style"]): Theme["style"]["muted"] {
  if (fullPercent > ALARM_PERCENT) return (text) => style.bold(style.error(text));
  return fullPercent > WARNING_PERCENT ? style.warning : style.muted;
}

/** Shapes differ, so that it can be read without colours. */
function contextBar(share: number): string {
  const full = Math.min(BAR_COLUMNS, share > 0 ? Math.max(1, Math.round(share * BAR_COLUMNS)) : 0);
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
  /** Default "left". */
  side?: "left" | "right";
}

interface Shown {
  part: Part;
  form: number;
}

const GAP = "  ";

/**
 * One line of what has room, the parts of the right at its right end. As long as there is too little room, the least
 * important form gives way to its next; the last part left is cut.
 */
function fitParts(parts: readonly Part[], width: number): string {
  let shown: Shown[] = parts.map((part) => ({ part, form: 0 }));
  while (shown.length > 0 && widthOf(shown) > width) {
    const least = shown.reduce((a, b) => (importanceOf(b) < importanceOf(a) ? b : a));
    const hasNext = least.form + 1 < least.part.forms.length;
    if (!hasNext && shown.length === 1) return least.part.style(cutText(textOf(least), width));
    shown = shown.flatMap((each) => {
      if (each !== least) return [each];
      return hasNext ? [{ ...least, form: least.form + 1 }] : [];
    });
  }
  return joined(shown, width);
}

function joined(shown: readonly Shown[], width: number): string {
  const side = (wanted: "left" | "right") =>
    shown
      .filter(({ part }) => (part.side ?? "left") === wanted)
      .map((each) => each.part.style(textOf(each)))
      .join(GAP);
  const [left, right] = [side("left"), side("right")];
  if (right === "") return left;
  return `${left}${" ".repeat(width - visibleWidth(left) - visibleWidth(right))}${right}`;
}

function widthOf(shown: readonly Shown[]): number {
  const texts = shown.map((each) => visibleWidth(textOf(each)));
  return texts.reduce((sum, each) => sum + each, 0) + GAP.length * (shown.length - 1);
}

function textOf({ part, form }: Shown): string {
  return part.forms[form]![0];
}

function importanceOf({ part, form }: Shown): number {
  return part.forms[form]![1];
}

/** Tokens in few columns: `950`, `9.5k`, `41k`, `1M`, `1.2M`. */
export function shortTokens(tokens: number): string {
  if (!Number.isFinite(tokens)) return "?";
  if (tokens < 999.5) return String(Math.round(tokens));
  const isThousands = tokens < 999_500;
  const scaled = tokens / (isThousands ? 1_000 : 1_000_000);
  const digits = scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : scaled.toFixed(0);
  return `${digits}${isThousands ? "k" : "M"}`;
}
