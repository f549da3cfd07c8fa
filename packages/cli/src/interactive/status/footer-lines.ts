import { costText, usdText } from "@bonsai-agent/messages";
import { percent } from "../../views/numbers.ts";
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
