import { existsSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import { parseFrontmatter } from "./frontmatter.ts";

/** A skill of the Agent Skills standard: a folder with a SKILL.md, or one Markdown file. */
interface Skill {
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

interface LoadedSkills {
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
 * Reads the skills of folders and files. Bonsai itself uses none: an extension may put them into a prompt.
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
  return withoutDoubles(places.map(({ path, source }) => skillsAt(path, source)));
}

/** The skills below a folder: a SKILL.md makes its folder one; in the folder itself, other Markdown files are skills too. */
export function loadSkillsFromDir({ dir, source }: { dir: string; source: string }): LoadedSkills {
  return withoutDoubles(skillFiles(dir, true).map((file) => readSkill(file, source)));
}

function skillsAt(path: string, source: string): LoadedSkills {
  const stats = statsAt(path);
  if (stats?.isDirectory()) return loadSkillsFromDir({ dir: path, source });
  if (stats?.isFile() && path.endsWith(".md")) return readSkill(path, source);
  const message = stats === undefined ? "There is no such file or folder." : "It is no Markdown file.";
  return { skills: [], diagnostics: [{ type: "warning", message, path }] };
}

/** @param seen the folders above and beside it, links resolved: links can lead in a circle */
function skillFiles(folder: string, isRoot: boolean, seen = new Set<string>()): string[] {
  const names = namesIn(folder);
  if (names.length === 0 || seen.has(realpathSync(folder))) return [];
  seen.add(realpathSync(folder));
  const own = join(folder, "SKILL.md");
  if (names.includes("SKILL.md") && statsAt(own) !== undefined) return [own];
  return names.flatMap((name) => {
    if (name.startsWith(".") || name === "node_modules") return [];
    const path = join(folder, name);
    const stats = statsAt(path);
    if (stats?.isDirectory()) return skillFiles(path, false, seen);
    return isRoot && stats?.isFile() && name.endsWith(".md") ? [path] : [];
  });
}

/** In order; none of a folder that is not there or may not be read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Undefined for what is not there, as a link that leads nowhere, and what may not be looked at. */
function statsAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

const MOST_NAME_CHARACTERS = 64;
const MOST_DESCRIPTION_CHARACTERS = 1_024;

function readSkill(filePath: string, source: string): LoadedSkills {
  const diagnostics: Diagnostic[] = [];
  const warn = (message: string) => diagnostics.push({ type: "warning", message, path: filePath });
  const none = { skills: [], diagnostics };
  let fields: Record<string, unknown>;
  try {
    fields = parseFrontmatter(readFileSync(filePath, "utf8")).frontmatter;
  } catch (error) {
    warn(`It cannot be read: ${String(error)}`);
    return none;
  }
  const { description } = fields;
  const isDeclared = basename(filePath) === "SKILL.md";
  if (typeof description !== "string" || description.trim() === "") {
    if (isDeclared) warn("It has no description.");
    return none;
  }
  const baseDir = dirname(filePath);
  const name = typeof fields.name === "string" && fields.name !== "" ? fields.name : basename(baseDir);
  if (name.length > MOST_NAME_CHARACTERS || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))
    warn(
      `The name "${name}" should have at most ${MOST_NAME_CHARACTERS} of a to z, 0 to 9 and single hyphens.`,
    );
  if (description.length > MOST_DESCRIPTION_CHARACTERS)
    warn(`The description has ${description.length} characters, more than ${MOST_DESCRIPTION_CHARACTERS}.`);
  const scope = source === "user" || source === "project" ? source : "temporary";
  const sourceInfo = createSyntheticSourceInfo(filePath, { source, scope, baseDir });
  const disableModelInvocation = fields["disable-model-invocation"] === true;
  return {
    skills: [{ name, description, filePath, baseDir, sourceInfo, disableModelInvocation }],
    diagnostics,
  };
}

/** Of one name, the first counts; a file that is reached twice is no collision. */
function withoutDoubles(loaded: readonly LoadedSkills[]): LoadedSkills {
  const byName = new Map<string, Skill>();
  const files = new Set<string>();
  const diagnostics = loaded.flatMap((each) => each.diagnostics);
  for (const skill of loaded.flatMap(({ skills }) => skills)) {
    const file = realpathSync(skill.filePath);
    const winner = byName.get(skill.name);
    if (files.has(file)) continue;
    files.add(file);
    if (winner === undefined) byName.set(skill.name, skill);
    else diagnostics.push(collision(skill, winner));
  }
  return { skills: [...byName.values()], diagnostics };
}

function collision({ name, filePath }: Skill, winner: Skill): Diagnostic {
  const paths = { winnerPath: winner.filePath, loserPath: filePath };
  const message = `There is another skill "${name}", which counts: ${winner.filePath}`;
  return { type: "collision", message, path: filePath, collision: { resourceType: "skill", name, ...paths } };
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
    `Skills hold instructions for particular tasks. Where one fits, open its file with ${fileReadTool} and follow it.`,
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

const skillBlock = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/;

/** The skill that a user's message carries in pi; null for a message without one. */
export function parseSkillBlock(
  text: string,
): { name: string; location: string; content: string; userMessage: string | undefined } | null {
  const match = skillBlock.exec(text);
  if (match === null) return null;
  const [, name, location, content, said] = match;
  return { name: name!, location: location!, content: content!, userMessage: said?.trim() || undefined };
}
