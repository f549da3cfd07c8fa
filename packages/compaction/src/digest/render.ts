import type { SummaryKind } from "../summariser.ts";
import type { SectionName } from "./sections.ts";
import { digestTokens } from "./tokens.ts";

/** A line that wants to be in the summary. */
export interface Item {
  section: SectionName;
  text: string;
  /** Higher is kept longer. */
  score: number;
  /** Where it stands among the lines of its section. */
  position: number;
}

/** The share of the budget that a section may take while others still want some. */
const SHARE: Record<SectionName, number> = {
  goal: 0.12,
  constraints: 0.34,
  done: 0.16,
  inProgress: 0.05,
  blocked: 0.22,
  decisions: 0.26,
  next: 0.18,
  critical: 0.3,
};

interface Block {
  heading: string;
  section?: SectionName;
  parts?: Array<{ heading: string; section: SectionName }>;
}

const PROGRESS: Block["parts"] = [
  { heading: "### Done", section: "done" },
  { heading: "### In Progress", section: "inProgress" },
  { heading: "### Blocked", section: "blocked" },
];
const HISTORY: Block[] = [
  { heading: "## Goal", section: "goal" },
  { heading: "## Constraints & Preferences", section: "constraints" },
  {
    heading: "## Progress",
    parts: PROGRESS,
  },
  { heading: "## Key Decisions", section: "decisions" },
  { heading: "## Next Steps", section: "next" },
  { heading: "## Critical Context", section: "critical" },
];
/** A branch that was left needs no context to go on from. */
const BRANCH = HISTORY.filter((block) => block.section !== "critical");
/** The sub-headings are those of the history, so that the next compaction reads each line back as what it is. */
const TURN_PREFIX: Block[] = [
  { heading: "## Request", section: "goal" },
  {
    heading: "## Done So Far",
    parts: PROGRESS,
  },
  {
    heading: "## Needed to Go On",
    parts: [
      { heading: "### Constraints & Preferences", section: "constraints" },
      { heading: "### Key Decisions", section: "decisions" },
      { heading: "### Next Steps", section: "next" },
      { heading: "### Critical Context", section: "critical" },
    ],
  },
];
const LAYOUTS: Record<SummaryKind, Block[]> = { history: HISTORY, branch: BRANCH, turnPrefix: TURN_PREFIX };
/** What scores less is not worth its line, even where its section has room … */
const LEAST: Partial<Record<SectionName, number>> = { critical: 3.6, decisions: 3.6, goal: 2 };
/** … nor to fill room that the others left: a shorter summary is better than noise. */
const LEAST_TO_FILL: Partial<Record<SectionName, number>> = { done: 1, critical: 4, decisions: 4, goal: 3.2 };
/** Headings and "(none)" lines. */
const FRAME_TOKENS = 90;

/**
 * Fills the budget with the best lines: first within each section's share, so that no section starves another, then
 * with whatever is left over by score alone.
 */
export function chooseItems(items: readonly Item[], maxTokens: number): Item[] {
  const budget = Math.max(0, maxTokens - FRAME_TOKENS);
  const ranked = [...items].sort(
    (a, b) => b.score - a.score || b.position - a.position || (a.text < b.text ? -1 : 1),
  );
  const chosen = new Set<Item>();
  const spent = new Map<SectionName, number>();
  let total = 0;
  for (const capped of [true, false])
    for (const item of ranked) {
      if (chosen.has(item)) continue;
      const tokens = digestTokens(item.text) + 2;
      const inSection = (spent.get(item.section) ?? 0) + tokens;
      if (item.score < ((capped ? LEAST : LEAST_TO_FILL)[item.section] ?? 0)) continue;
      if (total + tokens > budget || (capped && inSection > budget * SHARE[item.section])) continue;
      chosen.add(item);
      spent.set(item.section, inSection);
      total += tokens;
    }
  return items.filter((item) => chosen.has(item));
}

/** The summary's Markdown, in the sections of its kind. */
export function renderItems(items: readonly Item[], kind: SummaryKind): string {
  return LAYOUTS[kind].map((block) => renderBlock(items, block, kind !== "turnPrefix")).join("\n\n");
}

function renderBlock(
  items: readonly Item[],
  { heading, section, parts = [] }: Block,
  complete: boolean,
): string {
  const own = section === undefined ? heading : `${heading}\n${lines(items, section) || "(none)"}`;
  const below = parts
    .map((part) => ({ heading: part.heading, text: lines(items, part.section) }))
    .filter((part) => complete || part.text !== "")
    .map((part) => `${part.heading}\n${part.text || "(none)"}`);
  return [own, ...below].join("\n\n");
}

function lines(items: readonly Item[], section: SectionName): string {
  const own = items.filter((item) => item.section === section);
  return own
    .sort((a, b) => a.position - b.position)
    .map((item) => `- ${item.text}`)
    .join("\n");
}
