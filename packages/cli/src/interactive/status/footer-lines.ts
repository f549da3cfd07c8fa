import { percent, usd } from "../../views/numbers.ts";
import { oneLine } from "../../views/printable.ts";
import { truncate } from "../../views/text-width.ts";
import type { Theme } from "../theme/theme.ts";
import { fitParts, type Part } from "./fit-parts.ts";
import type { FooterFacts } from "./footer-facts.ts";
import { shortTokens } from "./short-tokens.ts";

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
  const parts: Part[] = [{ forms: [path, lastName], style: style.muted, importance: 4 }];
  if (branch) parts.push({ forms: [oneLine(branch)], style: style.accent, importance: 3 });
  if (sessionName) parts.push({ forms: forms(sessionName, [60, 24]), style: style.dim, importance: 2 });
  const told = statuses.map((each) => oneLine(each)).filter(Boolean);
  if (told.length > 0)
    parts.push({ forms: forms(told.join(" · "), [80, 30]), style: style.dim, importance: 1, side: "right" });
  return parts;
}

function workParts(facts: FooterFacts, { style }: Theme): Part[] {
  const { provider, model, thinking, costUsd } = facts;
  const [id, by] = [oneLine(model), oneLine(provider)];
  const parts = contextParts(facts, style);
  if (costUsd > 0) parts.push({ forms: [usd(costUsd)], style: style.muted, importance: 4 });
  parts.push({
    forms: [`${by}/${id}`, ...forms(id, [60, 28, 16])],
    style: style.muted,
    importance: 5,
    side: "right",
  });
  if (thinking)
    parts.push({ forms: [`thinking ${thinking}`, thinking], style: style.dim, importance: 3, side: "right" });
  return parts;
}

function contextParts(facts: FooterFacts, style: Theme["style"]): Part[] {
  const { tokens, windowTokens, certainty } = facts;
  const known =
    certainty === "unknown" ? "?" : `${certainty === "estimate" ? "~" : ""}${shortTokens(tokens)}`;
  if (windowTokens === undefined)
    return [{ forms: [`${known} tokens`, known], style: style.muted, importance: 6 }];
  const window = shortTokens(windowTokens);
  if (certainty === "unknown") return [{ forms: [`?/${window}`], style: style.muted, importance: 6 }];
  const share = percent(tokens, windowTokens);
  const look = levelStyle((tokens / windowTokens) * 100, style);
  return [
    { forms: [contextBar(tokens / windowTokens)], style: look, importance: 2 },
    { forms: [`${known}/${window} ${share}`, share], style: look, importance: 6 },
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

/** A text at several widths, the longest first. */
function forms(text: string, lengths: readonly number[]): string[] {
  const line = oneLine(text);
  const cut = lengths.map((length) => truncate(line, length));
  return [...new Set(cut)];
}
