import { basename, dirname } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { escapeTag, type skillCallIn } from "@bonsai-agent/messages/host";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";
import { readRegularFile } from "../tools/files/open-file.ts";
import { isInside } from "../tools/path-guard.ts";
import {
  findSkillFiles,
  frontmatterParts,
  type ParseYaml,
  readFrontmatter,
  realOf,
  type SkillFiles,
  statsAt,
} from "./resource-files.ts";

/** A skill of the Agent Skills standard: a folder with a SKILL.md, or one Markdown file. */
export interface Skill {
  name: string;
  /** Tells the model when to use it, on one line. */
  description: string;
  /** Its file. Absolute. */
  path: string;
  /** Paths in its text are relative to this folder. */
  folder: string;
  /** False if only the user may call it. */
  isForModel: boolean;
  /** False if only the model uses it. */
  isForUser: boolean;
  /** Describes the arguments after its name. */
  argumentHint?: string | undefined;
  /** The file or folder that tools may read without asking, links resolved; undefined for a link that leads out of its project. */
  readable: string | undefined;
  /** The place where it was found. */
  place: SkillPlace;
}

/** A folder that is searched for skills, or one file of a skill. It need not exist. */
export interface SkillPlace {
  /** Absolute. */
  path: string;
  /** Skills of the project are read only if they belong to the user, root or the owner of the project. */
  origin: "package" | "user" | "project" | "settings" | "extension" | "flag";
}

/** A problem of a skill or a place. */
interface SkillProblem {
  path: string;
  /** In a sentence about the path. */
  message: string;
}

interface ReadSkills<Place extends SkillPlace> {
  /** By name. */
  skills: readonly (Skill & { place: Place })[];
  problems: readonly SkillProblem[];
}

/** How the places are read. */
interface ReadSkillsOptions {
  /** Files of a project are read if they belong to this user, root or its owner. Default: the user of this process; on Windows all. */
  uid?: number | undefined;
}

/** Bytes to read for the fields. */
const HEAD_BYTES = 128 * 1024;
/** A longer text does not fit a model. */
const MAX_BODY_BYTES = 1_000_000;

const MAX_NAME_CHARACTERS = 64;
const MAX_DESCRIPTION_CHARACTERS = 1_024;

/**
 * Reads the skills of some places: in a folder, each SKILL.md below it and its own Markdown files with a description.
 * Skips hidden folders and `node_modules`, but not files ignored by git: users keep their own skills there. Never rejects.
 * Loads the YAML parser only if there is a skill.
 */
export async function readSkills<Place extends SkillPlace>(
  places: readonly Place[],
  options: ReadSkillsOptions = {},
): Promise<ReadSkills<Place>> {
  const found = findSkillFiles(places);
  if (found.files.length === 0) return { skills: [], problems: found.problems };
  const { parse } = await import("yaml");
  return skillsOf(found, parse, options);
}

function skillsOf<Place extends SkillPlace>(
  { files, problems }: SkillFiles<Place>,
  parse: ParseYaml,
  { uid = process.getuid?.() }: ReadSkillsOptions,
): ReadSkills<Place> {
  const all: SkillProblem[] = [...problems];
  const byName = new Map<string, Skill & { place: Place }>();
  const seen = new Set<string>();
  for (const file of files) {
    // Two places can lead to one file.
    const real = realOf(file.path) ?? file.path;
    if (seen.has(real)) continue;
    seen.add(real);
    const warn = (message: string) => all.push({ path: file.path, message });
    let skill: (Skill & { place: Place }) | undefined;
    try {
      skill = readSkill(file, { parse, uid, warn });
    } catch (error) {
      warn(`Cannot read it: ${messageOf(error)}`);
    }
    if (skill === undefined) continue;
    const before = byName.get(skill.name);
    if (before !== undefined)
      all.push({ path: before.path, message: `Another skill "${skill.name}" overrides it: ${skill.path}` });
    byName.set(skill.name, skill);
  }
  return { skills: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), problems: all };
}

/** Returns undefined for a file that is no usable skill. @throws what `textOf` throws */
function readSkill<Place extends SkillPlace>(
  { path, place }: SkillFiles<Place>["files"][number],
  { parse, uid, warn }: ReadingOptions,
): (Skill & { place: Place }) | undefined {
  const isFolder = basename(path) === "SKILL.md";
  const isDeclared = isFolder || path === place.path;
  const head = textOf(path, HEAD_BYTES, place.origin === "project" ? ownersOf(place, uid) : undefined);
  const { fields, problem } = readFrontmatter(frontmatterParts(head), parse);
  const description = [fields.description, fields.when_to_use].filter(hasText).map(onOneLine).join(" ");
  if (description === "" && !isDeclared) return undefined;
  if (problem !== undefined && isDeclared) warn(`Cannot read it: ${problem}.`);
  const folder = dirname(path);
  const name = hasText(fields.name)
    ? onOneLine(fields.name)
    : isFolder
      ? basename(folder)
      : basename(path, ".md");
  if (!isUsable({ name, description, path }, problem !== undefined, warn)) return undefined;
  // `[file]` is a list in YAML.
  const given = fields["argument-hint"];
  const hint = Array.isArray(given) ? `[${given.join(", ")}]` : given;
  return {
    ...{ name, description, path, folder, place },
    isForModel: fields["disable-model-invocation"] !== true,
    isForUser: fields["user-invocable"] !== false,
    ...(hasText(hint) && { argumentHint: onOneLine(hint) }),
    readable: readableOf({ path, folder, isFolder, place }),
  };
}

interface ReadingOptions extends ReadSkillsOptions {
  parse: ParseYaml;
  warn: (message: string) => void;
}

function isUsable(
  { name, description, path }: Pick<Skill, "name" | "description" | "path">,
  isUnreadable: boolean,
  warn: ReadingOptions["warn"],
): boolean {
  // The prompt shows both on one line.
  const isCallable = name.length <= 4 * MAX_NAME_CHARACTERS && !/[\p{Cc}"<>]/u.test(name);
  if (description !== "" && (!isCallable || /\p{Cc}/u.test(path))) {
    warn(`The name "${name}" does not work as a command: use at most ${nameRule}.`);
    return false;
  }
  const isStandard = name.length <= MAX_NAME_CHARACTERS && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name);
  if (!isStandard) warn(`The name "${name}" should have at most ${nameRule}.`);
  if (description === "") {
    if (!isUnreadable) warn("It has no description.");
    return false;
  }
  if (description.length > MAX_DESCRIPTION_CHARACTERS)
    warn(
      `The description has ${description.length} characters; the maximum is ${MAX_DESCRIPTION_CHARACTERS}.`,
    );
  return true;
}

const nameRule = `${MAX_NAME_CHARACTERS} characters: a to z, 0 to 9 and single hyphens`;

function hasText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** A link of a project must not open files outside the project. */
function readableOf({
  path,
  folder,
  isFolder,
  place,
}: Pick<Skill, "path" | "folder" | "place"> & { isFolder: boolean }) {
  const real = realOf(isFolder ? folder : path);
  if (real === undefined || place.origin !== "project") return real;
  const root = realOf(place.path);
  return root !== undefined && isInside(root, real) ? real : undefined;
}

/** The user, root and the owner of the project, which is two folders above the skills. */
function ownersOf({ path }: SkillPlace, uid: number | undefined): ReadonlySet<number> | undefined {
  if (uid === undefined) return undefined;
  const project = statsAt(dirname(dirname(path)));
  return new Set([uid, 0, ...(project === undefined ? [] : [project.uid])]);
}

/** @throws errors of reading, and a sentence about a file that is no text or belongs to another user */
function textOf(path: string, maxBytes: number, owners?: ReadonlySet<number>): string {
  const { bytes, stats } = readRegularFile(path, maxBytes);
  if (owners !== undefined && !owners.has(stats.uid))
    throw new Error(`it belongs to another user (uid ${stats.uid})`);
  if (bytes.includes(0)) throw new Error("it is not a text file");
  return bytes.toString("utf8");
}

export type CalledSkill = Pick<Skill, "name" | "path" | "folder">;

/**
 * Reads a skill and returns the text of a message that calls it.
 * @param args the user's text after its name; replaces `$ARGUMENTS` in the skill
 * @throws BonsaiError `skill_unreadable`
 */
export function skillMessage({ name, path, folder }: CalledSkill, args = ""): string {
  let text: string;
  try {
    text = textOf(path, MAX_BODY_BYTES + 1);
    if (text.length > MAX_BODY_BYTES) throw new Error(`it has more than ${count(MAX_BODY_BYTES)} bytes`);
  } catch (error) {
    throw new BonsaiError({
      code: "skill_unreadable",
      message: `Cannot use the skill ${name} (${path}): ${messageOf(error)}`,
      hint: "Fix the file and run /reload.",
      cause: error,
    });
  }
  const said = args.trim();
  const body = frontmatterParts(text)
    .body.trim()
    .replaceAll(/\$\{CLAUDE_SKILL_DIR\}/g, () => folder);
  const filled = body.replaceAll("$ARGUMENTS", () => said);
  return skillCallText({
    name,
    path,
    args: said,
    body: `References are relative to ${folder}.\n\n${filled}`,
  });
}

/** The text of a message that calls a skill, for `skillCallIn`. */
export function skillCallText({
  name,
  path,
  body,
  args,
}: NonNullable<ReturnType<typeof skillCallIn>>): string {
  const head = `<skill name="${attribute(name)}" location="${attribute(path)}">`;
  const sent = `${head}\n${escapeTag(body, "skill")}\n</skill>`;
  return args === "" ? sent : `${sent}\n\n${args}`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("\n", "&#10;");
}
