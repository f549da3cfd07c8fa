import { existsSync, type Stats, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Skill as AgentSkill } from "@bonsai-agent/agent";
import { readSkillsWith } from "@bonsai-agent/agent/host";
import { skillCallIn } from "@bonsai-agent/messages/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { parse } from "yaml";

/** A skill of the Agent Skills standard: a folder with a SKILL.md, or one Markdown file. */
export interface Skill {
  name: string;
  description: string;
  filePath: string;
  baseDir: string;
  sourceInfo: SourceInfo;
  /** True for one that only a user may call for. */
  disableModelInvocation: boolean;
}

interface SourceInfo {
  path: string;
  source: string;
  scope: "user" | "project" | "temporary";
  origin: "package" | "top-level";
  baseDir?: string | undefined;
}

interface Diagnostic {
  type: "warning" | "collision";
  message: string;
  path: string;
  collision?: { resourceType: "skill"; name: string; winnerPath: string; loserPath: string };
}

export interface LoadedSkills {
  skills: Skill[];
  diagnostics: Diagnostic[];
}

/** Where something is from that no package brought. */
export function createSyntheticSourceInfo(
  path: string,
  { source, scope = "temporary", origin = "top-level", baseDir }: Partial<SourceInfo> & { source: string },
): SourceInfo {
  return { path, source, scope, origin, baseDir };
}

/**
 * Reads the skills of folders and files, for an extension's own use: Bonsai's own are in its prompt already.
 * @param options.includeDefaults `skills` in the agent's folder and in the project's `.bonsai`, first
 */
export function loadSkills(options: {
  cwd: string;
  agentDir?: string;
  skillPaths?: readonly string[];
  includeDefaults?: boolean;
}): LoadedSkills {
  const { cwd, agentDir = bonsaiHome(), skillPaths = [], includeDefaults = true } = options;
  const defaults = [
    { path: join(agentDir, "skills"), source: "user" },
    { path: resolve(cwd, ".bonsai", "skills"), source: "project" },
  ];
  const places = [
    ...(includeDefaults ? defaults.filter(({ path }) => existsSync(path)) : []),
    ...skillPaths.map((path) => ({ path: resolve(cwd, path.trim()), source: "path" })),
  ];
  const named = places.map((place) => ({ place, message: unusable(place.path) }));
  const wrong = named.flatMap(({ place: { path }, message }) =>
    message === undefined ? [] : [{ type: "warning" as const, message, path }],
  );
  const { skills, diagnostics } = skillsAt(named.flatMap((each) => (each.message ? [] : [each.place])));
  return { skills, diagnostics: [...wrong, ...diagnostics] };
}

/** The skills below a folder: a SKILL.md makes its folder one; in the folder itself, other Markdown files are skills too. */
export function loadSkillsFromDir({ dir, source }: { dir: string; source: string }): LoadedSkills {
  return skillsAt([{ path: dir, source }]);
}

/** Of one name, the first counts, as in pi. */
function skillsAt(places: readonly { path: string; source: string }[]): LoadedSkills {
  const read = readSkillsWith(
    parse,
    places.map((place) => ({ ...place, origin: "settings" as const })),
    { wins: "first", keepLines: true },
  );
  const diagnostics = read.problems.map(({ path, message, winner }): Diagnostic => {
    if (winner === undefined) return { type: "warning", message, path };
    const paths = { winnerPath: winner.path, loserPath: path };
    return {
      type: "collision",
      message,
      path,
      collision: { resourceType: "skill", name: winner.name, ...paths },
    };
  });
  return { skills: read.skills.map((skill) => ofPi(skill, skill.place.source)), diagnostics };
}

function ofPi(
  { name, description, path: filePath, folder: baseDir, isForModel }: AgentSkill,
  source: string,
): Skill {
  const scope = source === "user" || source === "project" ? source : "temporary";
  const sourceInfo = createSyntheticSourceInfo(filePath, { source, scope, baseDir });
  return { name, description, filePath, baseDir, sourceInfo, disableModelInvocation: !isForModel };
}

/** Why a path that was named leads to no skill; undefined where it may. */
function unusable(path: string): string | undefined {
  const stats = statsAt(path);
  if (stats?.isDirectory() || (stats?.isFile() && path.endsWith(".md"))) return undefined;
  return stats === undefined ? "No such file or folder." : "This is not a Markdown file.";
}

/** Undefined for what is not there, as a link that leads nowhere, and what may not be looked at. */
function statsAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** A list of skills for a system prompt, without those that only a user may call for; empty for none. */
export function formatSkillsForPrompt(
  skills: readonly Skill[],
  fileReadTool: "read" | "bash" = "read",
): string {
  const shown = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  if (shown.length === 0) return "";
  const rows = shown.flatMap(({ name, description, filePath }) => [
    "  <skill>",
    `    <name>${escaped(name)}</name>`,
    `    <description>${escaped(description)}</description>`,
    `    <location>${escaped(filePath)}</location>`,
    "  </skill>",
  ]);
  const head = [
    "",
    "",
    `Skills are instructions for particular tasks. If one fits the task, read its file with ${fileReadTool} and follow it.`,
    "Paths in a skill are relative to the folder of its file.",
    "",
  ];
  return [...head, "<available_skills>", ...rows, "</available_skills>"].join("\n");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign]!);
}

/** The skill that a user's message carries; null for a message without one. */
export function parseSkillBlock(
  text: string,
): { name: string; location: string; content: string; userMessage: string | undefined } | null {
  const call = skillCallIn(text);
  if (call === undefined) return null;
  const { name, path: location, body: content, args } = call;
  return { name, location, content, userMessage: args.trim() || undefined };
}
