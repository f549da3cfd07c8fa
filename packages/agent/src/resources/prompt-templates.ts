import { isUtf8 } from "node:buffer";
import { statSync } from "node:fs";
import { basename } from "node:path";
import { shortened } from "@bonsai-agent/messages";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";
import { readRegularFile } from "../tools/files/open-file.ts";
import { folderEntries, parseFrontmatter } from "./resource-files.ts";
import { type CalledSkill, skillMessage } from "./skills.ts";

/** A Markdown file whose text is a prompt, with places for arguments. */
export interface PromptTemplate<Place = unknown> {
  /** Without the slash; with its folders before it, as in `frontend:component`. */
  name: string;
  /** Absolute. */
  path: string;
  /** From its fields, otherwise its first line. */
  description: string;
  /** Describes its arguments. */
  argumentHint?: string;
  /** Its model, if it names one. */
  model?: string;
  /** Without the fields. */
  body: string;
  place: Place;
}

export interface PromptTemplates<Place = unknown> {
  /** By name. The later of two templates with one name counts. */
  templates: ReadonlyMap<string, PromptTemplate<Place>>;
  /** Each message is a sentence about the file. */
  problems: readonly { path: string; message: string; place: Place }[];
}

/** Maximum size of a template. */
const MAX_BYTES = 256 * 1024;
const MAX_FOLDERS_DEEP = 8;
const MAX_FILES = 2_000;
const DESCRIPTION_CHARS = 100;

/** Works as a part of a command's name. */
const typable = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u;

/** Reads the templates of files and folders, which need not exist. Never rejects: errors become problems. */
export async function readPromptTemplates<Place extends { path: string }>(
  places: readonly Place[],
): Promise<PromptTemplates<Place>> {
  const templates = new Map<string, PromptTemplate<Place>>();
  const problems: PromptTemplates<Place>["problems"][number][] = [];
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

function templateFiles(root: string, onProblem: OnProblem): { path: string; name: string }[] {
  try {
    if (statSync(root).isDirectory()) return filesBelow(root, onProblem);
    if (root.endsWith(".md")) return [{ path: root, name: basename(root, ".md") }];
    onProblem(root, "It is not a Markdown file: the name of a prompt template must end with .md.");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onProblem(root, unreadable(error));
  }
  return [];
}

function filesBelow(root: string, onProblem: OnProblem): { path: string; name: string }[] {
  const files: { path: string; name: string }[] = [];
  const seen = new Set<string>();
  const open: { folder: string; prefix: readonly string[] }[] = [{ folder: root, prefix: [] }];
  for (const { folder, prefix } of open) {
    const onError = (error: unknown) => onProblem(folder, unreadable(error));
    for (const { path, name, isFolder, problem } of folderEntries(folder, seen, onError)) {
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

async function readTemplate(
  path: string,
  name: string,
  onProblem: OnProblem,
): Promise<Omit<PromptTemplate, "place"> | undefined> {
  const fail = (message: string) => onProblem(path, message);
  if (!name.split(":").every((part) => typable.test(part)))
    return void fail("Its name does not work as a command. Rename it: use letters, digits, dots, - and _.");
  let file: ReturnType<typeof readRegularFile>;
  try {
    file = readRegularFile(path, MAX_BYTES);
  } catch (error) {
    return void fail(unreadable(error));
  }
  const { bytes, stats } = file;
  if (stats.size > MAX_BYTES)
    return void fail(`It has ${count(stats.size)} bytes; the maximum is ${count(MAX_BYTES)}.`);
  if (!isUtf8(bytes) || bytes.includes(0)) return void fail("It is not UTF-8 text.");
  const { fields, body, problem } = await parseFrontmatter(bytes.toString("utf8"));
  if (problem !== undefined) fail(`Its front matter is ignored: ${problem}.`);
  if (body.trim() === "") return void fail("It contains no prompt.");
  const hint = hintOf(fields["argument-hint"]);
  const { model } = fields;
  return {
    ...{ name, path, description: descriptionOf(fields.description, body), body: body.trim() },
    ...(hint !== undefined && { argumentHint: hint }),
    ...(typeof model === "string" && model !== "inherit" && { model }),
  };
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

/**
 * Returns the text of a message that calls a template or a skill, and the commands of the template.
 * @param typed the user's text, from the slash on: the arguments come after the name
 * @throws BonsaiError `skill_unreadable`
 */
export function expandResourceCall(
  called: Pick<PromptTemplate, "body"> | CalledSkill,
  typed: string,
): { text: string; commands: readonly string[] } {
  const args = typed.replace(/^\s*\/\S+/, "").trim();
  return "body" in called ? expandTemplate(called, args) : { text: skillMessage(called, args), commands: [] };
}

/**
 * Puts the arguments into the places of a template, or after it if it has none. `commands` are those of `` !`command` ``.
 * They are not run, because a file wrote them: the model can run them with its own tools, under their guards.
 */
function expandTemplate(
  { body }: Pick<PromptTemplate, "body">,
  args: string,
): { text: string; commands: readonly string[] } {
  const given = templateArguments(args);
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

/** A command in a line or a block, as in Claude Code. */
const command = /(?<=^|\s)!`([^`\n]+)`|^```!\s*\n([\s\S]*?)\n```$/gm;

const notRun =
  "(The commands marked with ! above were not run, so their output is missing. Run the commands whose output you need.)";

/** The arguments after the name of a template, parsed as in a shell. */
interface TemplateArguments {
  /** Without their quotes. */
  words: readonly TemplateWord[];
  /** All arguments, with the blanks between them as typed. */
  all: string;
}

interface TemplateWord {
  text: string;
  /** The blanks before it. */
  gap: string;
}

/** Splits arguments at blanks. An argument can begin with a quoted text, in which a backslash escapes the quote. */
export function templateArguments(typed: string): TemplateArguments {
  const words: TemplateWord[] = [];
  let at = 0;
  while (at < typed.length) {
    const gap = /^\s*/.exec(typed.slice(at))![0];
    at += gap.length;
    if (at >= typed.length) break;
    const { text, end } = wordAt(typed, at);
    words.push({ text, gap: words.length === 0 ? "" : gap });
    at = end;
  }
  return { words, all: joined(words) };
}

const quotedStart = /(["'])((?:\\\1|\\(?!\1)|(?!\1|\\)[\s\S])*)\1/y;
const bareWord = /\S*/y;

function wordAt(typed: string, from: number): { text: string; end: number } {
  quotedStart.lastIndex = from;
  const quoted = quotedStart.exec(typed);
  bareWord.lastIndex = quoted === null ? from : quotedStart.lastIndex;
  const bare = bareWord.exec(typed)![0];
  if (quoted === null) return { text: bare, end: from + bare.length };
  const [whole, quote = "", inner = ""] = quoted;
  return { text: inner.replaceAll(`\\${quote}`, quote) + bare, end: from + whole.length + bare.length };
}

/** A place for arguments. `\$1` and an amount of money such as `$1.50` are text. */
const argumentPlace =
  /(\\?)(?:\$\{(\d+|@|ARGUMENTS):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$ARGUMENTS\[(\d+)\]|\$\{(\d+|@|ARGUMENTS)\}|\$(ARGUMENTS(?!\w)|@|\d+(?!\d|[.,]\d)))/g;

/** Replaces the places in one pass: places in an argument are text. `isUsed` is false if the text has no place. */
export function withArguments(
  body: string,
  { words, all }: TemplateArguments,
): { text: string; isUsed: boolean } {
  let isUsed = false;
  // A template with $0 counts from 0, as commands of Claude Code do.
  const first = /(?<!\\)\$0(?!\d)/.test(body) ? 0 : 1;
  const highest = highestPlace(body, first);
  const word = (target: string) =>
    target === "@" || target === "ARGUMENTS" ? all : (words[Number(target) - first]?.text ?? "");
  const text = body.replaceAll(
    argumentPlace,
    (whole: string, backslash: string, target?: string, preset?: string, ...rest: (string | undefined)[]) => {
      if (backslash !== "") return whole.slice(1);
      const [from, length, index, braced, simple] = rest;
      if (simple !== undefined && Number(simple) > highest && words[Number(simple) - first] === undefined)
        return whole;
      isUsed = true;
      if (target !== undefined) return word(target) || (preset ?? "");
      if (from !== undefined) return slice(words, Math.max(0, Number(from) - 1), length);
      if (index !== undefined) return words[Number(index)]?.text ?? "";
      return word(braced ?? simple ?? "");
    },
  );
  return { text, isUsed };
}

/** Returns the last place before a gap: without `$4` and a fifth argument, `$5` is an amount of money. */
function highestPlace(body: string, first: number): number {
  const numbers = [...body.matchAll(/(?<!\\)\$\{?(\d+)(?!\d|[.,]\d)/g)].map(([, number]) => Number(number));
  const used = new Set(numbers);
  let highest = first;
  while (used.has(highest)) highest += 1;
  return highest - 1;
}

function slice(words: readonly TemplateWord[], start: number, length: string | undefined): string {
  return joined(words.slice(start, length === undefined ? undefined : start + Number(length)));
}

function joined(words: readonly TemplateWord[]): string {
  return words.map(({ text, gap }, at) => (at === 0 ? text : gap + text)).join("");
}
