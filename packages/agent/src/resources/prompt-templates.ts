import { isUtf8 } from "node:buffer";
import { statSync } from "node:fs";
import { basename } from "node:path";
import { shortened } from "@bonsai-agent/messages";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";
import { parseFrontmatter } from "./frontmatter.ts";
import { type FolderEntry, folderEntries, readRegularFile } from "./resource-files.ts";
import { type TemplateArguments, withArguments } from "./template-arguments.ts";

/** A Markdown file whose text is a prompt, with places for arguments. */
export interface PromptTemplate<Place = unknown> {
  /** Without the slash; folders stand before it, as in `frontend:component`. */
  name: string;
  /** Absolute. */
  path: string;
  /** From its fields, otherwise its first line. */
  description: string;
  /** Which arguments it takes, as its fields say it. */
  argumentHint?: string;
  /** The model that it wants to be answered by, as its fields say it. */
  model?: string;
  /** Behind the fields. */
  body: string;
  place: Place;
}

interface TemplateProblem<Place = unknown> {
  path: string;
  /** A sentence about the file. */
  message: string;
  place: Place;
}

export interface PromptTemplates<Place = unknown> {
  /** By name; of two with one name, the later. */
  templates: ReadonlyMap<string, PromptTemplate<Place>>;
  problems: readonly TemplateProblem<Place>[];
}

/** Maximum size of a template. */
const MAX_BYTES = 256 * 1024;
const MAX_FOLDERS_DEEP = 8;
const MAX_FILES = 2_000;
const DESCRIPTION_CHARS = 100;

/** Can be typed behind a slash. */
const typable = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u;

/**
 * Reads the templates of files and folders, those of later places over those of earlier ones. A place need not exist.
 * Never rejects: what cannot be read is a problem.
 */
export async function readPromptTemplates<Place extends { path: string }>(
  places: readonly Place[],
): Promise<PromptTemplates<Place>> {
  const templates = new Map<string, PromptTemplate<Place>>();
  const problems: TemplateProblem<Place>[] = [];
  for (const place of places) {
    const onProblem = (path: string, message: string) => problems.push({ path, message, place });
    for (const { path, name } of templateFiles(place.path, onProblem)) {
      const template = await readTemplate(path, name, onProblem);
      if (template !== undefined) templates.set(name, { ...template, place });
    }
  }
  return { templates, problems };
}

type OnProblem = (path: string, message: string) => void;

interface TemplateFile {
  path: string;
  name: string;
}

function templateFiles(path: string, onProblem: OnProblem): TemplateFile[] {
  try {
    if (statSync(path).isDirectory()) return filesBelow(path, onProblem);
    if (path.endsWith(".md")) return [{ path, name: basename(path, ".md") }];
    onProblem(path, "It is not a Markdown file: the name of a prompt template must end with .md.");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onProblem(path, unreadable(error));
  }
  return [];
}

function filesBelow(root: string, onProblem: OnProblem): TemplateFile[] {
  const files: TemplateFile[] = [];
  const seen = new Set<string>();
  const open: { folder: string; prefix: readonly string[] }[] = [{ folder: root, prefix: [] }];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { folder, prefix } = next;
    for (const { path, name, isFolder, problem } of entriesOf(folder, seen, onProblem)) {
      if (isFolder && prefix.length < MAX_FOLDERS_DEEP)
        open.push({ folder: path, prefix: [...prefix, name] });
      if (isFolder || !name.endsWith(".md")) continue;
      if (problem !== undefined) onProblem(path, unreadable(problem));
      else if (files.length >= MAX_FILES) {
        onProblem(root, `It contains more than ${count(MAX_FILES)} prompt templates. The rest are ignored.`);
        return files;
      } else files.push({ path, name: [...prefix, name.slice(0, -".md".length)].join(":") });
    }
  }
  return files;
}

function entriesOf(folder: string, seen: Set<string>, onProblem: OnProblem): FolderEntry[] {
  try {
    return folderEntries(folder, seen);
  } catch (error) {
    onProblem(folder, unreadable(error));
    return [];
  }
}

async function readTemplate(
  path: string,
  name: string,
  onProblem: OnProblem,
): Promise<Omit<PromptTemplate, "place"> | undefined> {
  const fail = (message: string) => {
    onProblem(path, message);
    return undefined;
  };
  if (!name.split(":").every((part) => typable.test(part)))
    return fail("Its name does not work as a command. Rename it: use letters, digits, dots, - and _.");
  const bytes = readBytes(path, fail);
  if (bytes === undefined) return undefined;
  if (!isUtf8(bytes) || bytes.includes(0)) return fail("It is not UTF-8 text.");
  const { fields, body, problem } = await parseFrontmatter(bytes.toString("utf8"));
  if (problem !== undefined) onProblem(path, `Its front matter is ignored: ${problem}.`);
  if (body.trim() === "") return fail("It contains no prompt.");
  const hint = hintOf(fields["argument-hint"]);
  const { model } = fields;
  return {
    name,
    path,
    description: descriptionOf(fields.description, body),
    ...(hint !== undefined && { argumentHint: hint }),
    ...(typeof model === "string" && model !== "inherit" && { model }),
    body: body.trim(),
  };
}

function readBytes(path: string, fail: (message: string) => undefined): Buffer | undefined {
  try {
    const { bytes, stats } = readRegularFile(path, MAX_BYTES);
    if (stats.size <= MAX_BYTES) return bytes;
    return fail(`It has ${count(stats.size)} bytes; the maximum is ${count(MAX_BYTES)}.`);
  } catch (error) {
    return fail(unreadable(error));
  }
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ELOOP") return "It is a link to itself.";
  if (code === "ENOENT") return "It links to a missing file.";
  return `Cannot read it: ${messageOf(error)}.`;
}

/** `[focus]` is a list to YAML. */
function hintOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return `[${value.map(String).join(", ")}]`;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function descriptionOf(value: unknown, body: string): string {
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  const first = body.split("\n").find((line) => line.trim() !== "") ?? "";
  const line = first.trim().replace(/^#+\s+/, "");
  return shortened(line, DESCRIPTION_CHARS);
}

/** A prompt that was made of a template. */
interface ExpandedTemplate {
  text: string;
  /** Commands that its text wants to be run, by `` !`command` ``: none of them was. */
  commands: readonly string[];
}

/**
 * The text of a template with the arguments in their places. Arguments that no place takes stand behind it. Commands
 * in it are not run: they are the text of a file, and the model runs what it needs by its own tools, with their guards.
 */
export function expandTemplate(
  { body }: Pick<PromptTemplate, "body">,
  given: TemplateArguments,
): ExpandedTemplate {
  const { text, isUsed } = withArguments(body, given);
  const commands = [...body.matchAll(command)].map(([, line, block]) => (line ?? block ?? "").trim());
  return {
    text: [
      text,
      ...(isUsed || given.all === "" ? [] : [`Arguments: ${given.all}`]),
      ...(commands.length === 0 ? [] : [notRun]),
    ].join("\n\n"),
    commands,
  };
}

/** As Claude Code has them: in a line, or in a block. */
const command = /(?<=^|\s)!`([^`\n]+)`|^```!\s*\n([\s\S]*?)\n```$/gm;

const notRun =
  "(The commands marked with ! above were not run, so their output is missing. Run the commands whose output you need.)";

/** The name that a text calls, and what stands behind it; undefined for a text that is no call. */
export function commandCall(text: string): { name: string; args: string } | undefined {
  const [, name, args = ""] =
    /^\s*\/([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:-]*)(?:\s+([\s\S]*))?$/u.exec(text) ?? [];
  return name === undefined ? undefined : { name, args: args.trim() };
}
