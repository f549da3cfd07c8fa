import { homedir } from "node:os";
import { sep } from "node:path";
import { estimateTokens, lineText } from "@bonsai-agent/messages";
import type { Skill } from "./skills.ts";

const HEADING = [
  "# Skills",
  "A skill is a file with instructions for one kind of task. If a task matches a skill, read its file before you start and follow it; paths in it are relative to its folder. If a summary replaced a skill that you had read, read it again before you continue its task.",
].join("\n");

/** Characters of each description, until all fit. */
const DESCRIPTION_CHARS = [Number.POSITIVE_INFINITY, 600, 400, 250, 160, 100, 60];

/** Maximum share of the window for all skills together. */
export const SKILLS_WINDOW_SHARE = 1 / 20;
/** About 40 skills: the Agent Skills standard counts 100 tokens for a name and its description. */
export const MAX_SKILL_TOKENS = 4_000;

/**
 * The skills that the model may use, in the order given: what does not fit has shorter descriptions, then names alone, and
 * those that then do not fit are counted. The same skills and tokens give the same text, so that what is cached stays.
 * @returns empty for none
 */
export function skillSection(skills: readonly Skill[], maxTokens: number): string {
  const offered = skills.filter(({ isForModel }) => isForModel);
  if (offered.length === 0 || maxTokens <= 0) return "";
  const asLines = DESCRIPTION_CHARS.map((chars) => () => offered.map((skill) => lineOf(skill, chars)));
  for (const lines of [...asLines, () => offered.map((skill) => lineOf(skill))]) {
    const text = sectionOf(lines());
    if (estimateTokens(text) <= maxTokens) return text;
  }
  return asManyAsFit(offered, maxTokens);
}

/** The section in a system prompt; empty for none. */
export function skillSectionIn(systemPrompt: string): string {
  const from = systemPrompt.indexOf(HEADING);
  if (from < 0) return "";
  const to = systemPrompt.indexOf("\n\n", from);
  return systemPrompt.slice(from, to < 0 ? undefined : to);
}

function asManyAsFit(skills: readonly Skill[], maxTokens: number): string {
  const lines = skills.map((skill) => lineOf(skill));
  let shown = lines.length - 1;
  const text = () => sectionOf([...lines.slice(0, shown), moreLine(skills.slice(shown))]);
  while (shown > 0 && estimateTokens(text()) > maxTokens)
    shown = Math.min(shown - 1, Math.floor(shown * 0.9));
  return text();
}

function sectionOf(lines: readonly string[]): string {
  return [HEADING, ...lines].join("\n");
}

function lineOf({ name, description, path }: Skill, descriptionChars = 0): string {
  const place = `(${shownPath(path)})`;
  return descriptionChars === 0
    ? `- ${name} ${place}`
    : `- ${name}: ${lineText([{ text: description }], descriptionChars)} ${place}`;
}

function moreLine(skills: readonly Skill[]): string {
  const places = [...new Set(skills.map(({ place }) => shownPath(place.path)))];
  const where = places.length > 4 ? [...places.slice(0, 4), `${places.length - 4} more folders`] : places;
  return `- and ${skills.length} more in ${where.join(", ")} (no room to list them)`;
}

/** In the form that the read tool accepts. */
function shownPath(path: string): string {
  const home = homedir();
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}
