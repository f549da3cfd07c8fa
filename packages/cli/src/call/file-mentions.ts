import { isUtf8 } from "node:buffer";
import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { lookalikeName } from "@bonsai-agent/agent/host";
import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import { escapeTag, imageProblem } from "@bonsai-agent/messages/host";
import { count } from "@bonsai-agent/messages/numbers";
import type { CliIo } from "./io.ts";
import { absolutePath } from "./paths.ts";

/** The model reads longer files with its tools, in parts. */
const MAX_TEXT_BYTES = 1_000_000;
/** Maximum size of one image at the providers. */
export const MAX_IMAGE_BYTES = 5_000_000;

interface MentionedFiles {
  /** Text files in full, each with its path. */
  quotes: readonly string[];
  images: readonly ImageContent[];
}

/** Rules for a text that the user did not just type. */
interface MentionRules {
  /** False skips an existing file. Default: reads all. */
  isAllowed?: (path: string) => boolean;
  /** Gets the error of a skipped file. Default: it is thrown. */
  onProblem?: (error: BonsaiError) => void;
}

/**
 * Reads the files that a prompt names with `@`, each once.
 * @throws BonsaiError `file_not_found`, `file_not_text`, `file_too_large`, `image_unusable`
 */
export function mentionedFiles(
  words: readonly string[],
  { cwd }: Pick<CliIo, "cwd">,
  { isAllowed = () => true, onProblem }: MentionRules = {},
): MentionedFiles {
  const quotes: string[] = [];
  const images: ImageContent[] = [];
  const seen = new Set<string>();
  for (const mention of words.flatMap((word) =>
    mentionsIn(word, (path) => isThere(absolutePath(path, cwd))),
  )) {
    const named = absolutePath(mention.path, cwd);
    const path = statsOf(named) === undefined && isPath(mention, cwd) ? lookalikeOf(named) : named;
    const stats = statsOf(path);
    try {
      if (stats === undefined && isPath(mention, cwd)) throw notFound(mention, path);
      if (!stats?.isFile() || seen.has(path)) continue;
      seen.add(path);
      if (!isAllowed(path)) continue;
      const read = readMention(mention, path, stats);
      if (typeof read === "string") quotes.push(read);
      else images.push(read);
    } catch (error) {
      if (onProblem === undefined || !BonsaiError.is(error)) throw error;
      onProblem(error);
    }
  }
  return { quotes, images };
}

function isThere(path: string): boolean {
  return statsOf(path) !== undefined;
}

/** Returns the file in the same folder whose name looks the same, for example with another encoding of an accent. */
function lookalikeOf(path: string): string {
  try {
    const name = lookalikeName(basename(path), readdirSync(dirname(path)));
    return name === undefined ? path : join(dirname(path), name);
  } catch {
    // An unreadable folder has no other name to offer.
    return path;
  }
}

/** A word after `@` can be too long for a path, or a link in a circle: then there is no file. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (["ENAMETOOLONG", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** True for a word that must be a path. Other words with `@` are handles, decorators or npm scopes. */
function isPath({ path, isQuoted }: Mention, cwd: string): boolean {
  // A resource of an MCP server: `@server:scheme://…`.
  if (/^[\w-]+:[a-z][a-z\d+.-]+:\S/i.test(path)) return false;
  if (isQuoted || /^(\.{0,2}|~)\//.test(path)) return true;
  const [first, ...rest] = path.split("/");
  if (rest.length > 0 && statsOf(resolve(cwd, first!))?.isDirectory()) return true;
  return fileEnding.test(path);
}

const fileEnding =
  /[^/@]\.(c|cc|cfg|conf|cpp|cs|css|csv|env|gif|go|h|hpp|html?|ini|java|jpe?g|jsonl?|[cm]?[jt]sx?|kt|lock|log|mdx?|patch|pdf|php|png|py|rb|rs|scss|sh|sql|svelte|svg|swift|toml|txt|vue|webp|xml|ya?ml)$/i;

function readMention(mention: Mention, path: string, stats: Stats): string | ImageContent {
  if (stats.size > MAX_IMAGE_BYTES) throw tooLarge(mention, stats.size);
  const bytes = readFileSync(path);
  const mimeType = imageType(bytes);
  const problem = mimeType === undefined ? undefined : imageProblem(bytes);
  if (problem !== undefined) throw unusableImage(mention, problem);
  if (mimeType !== undefined) return { type: "image", data: bytes.toString("base64"), mimeType };
  if (bytes.length > MAX_TEXT_BYTES) throw tooLarge(mention, bytes.length);
  if (!isUtf8(bytes) || bytes.includes(0)) throw notText(mention);
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  return `<file path=${JSON.stringify(mention.path)}>\n${escapeTag(text.trimEnd(), "file")}\n</file>`;
}

function notFound({ path }: Mention, resolved: string): BonsaiError {
  return new BonsaiError({
    code: "file_not_found",
    message: `The prompt mentions @${path}, but ${resolved} does not exist.`,
    hint: "Correct the path, or write it without the @.",
  });
}

function tooLarge({ path }: Mention, bytes: number): BonsaiError {
  return new BonsaiError({
    code: "file_too_large",
    message: `@${path} has ${count(bytes)} bytes. The maximum is ${count(MAX_TEXT_BYTES)} for a text and ${count(MAX_IMAGE_BYTES)} for an image.`,
    hint: "Write the path without the @. The model then reads only the parts that it needs.",
  });
}

function unusableImage({ path }: Mention, problem: string): BonsaiError {
  return new BonsaiError({
    /** An image is incomplete, or has too many pixels for providers. */
    code: "image_unusable",
    message: `Cannot attach the image @${path}: ${problem}.`,
    hint: "Attach a smaller or repaired copy, or write the path without the @.",
  });
}

function notText({ path }: Mention): BonsaiError {
  return new BonsaiError({
    code: "file_not_text",
    message: `@${path} is neither UTF-8 text nor an image (PNG, JPEG, GIF, WebP).`,
    hint: "Write the path without the @. The model then reads it with its tools.",
  });
}

interface Mention {
  path: string;
  /** Written as `@"a path"`. */
  isQuoted: boolean;
}

/** Only at the start of a word: an `@` inside one belongs to an address. */
const beginning = /(?<=^|[\s([{<"'`])@(?=\S)/g;
const MAX_PATH_CHARS = 1_024;
/** Maximum length of the part after its first space. */
const MAX_MORE_CHARS = 120;
const MAX_NAMES = 40;

/**
 * Finds the mentions in one argument of the command line. The longest existing name wins. A name without a file ends at
 * a blank, a quote or an unpaired bracket.
 */
export function mentionsIn(word: string, exists: (path: string) => boolean): Mention[] {
  // The shell quoted the whole word as one path.
  if (word.startsWith("@") && exists(word.slice(1))) return [{ path: word.slice(1), isQuoted: false }];
  const found: Mention[] = [];
  let end = 0;
  for (const { index } of word.matchAll(beginning)) {
    if (index < end) continue;
    const mention = mentionAt(word.slice(index + 1, index + 1 + MAX_PATH_CHARS), exists);
    if (mention === undefined) continue;
    found.push(mention);
    end = index + 1 + mention.path.length;
  }
  return found;
}

function mentionAt(text: string, exists: (path: string) => boolean): Mention | undefined {
  const quoted = text.startsWith('"') ? quotedPath(text, exists) : undefined;
  if (quoted !== undefined && exists(quoted)) return { path: quoted, isQuoted: true };
  const existing = possibleNames(text).find(
    ({ name, rest }) => exists(name) && !isPartOfLongerName(name, rest),
  );
  if (existing !== undefined) return { path: existing.name, isQuoted: false };
  if (quoted !== undefined) return { path: quoted, isQuoted: true };
  const path = unknownName.exec(text)?.[0].replace(punctuation, "") ?? "";
  return path === "" ? undefined : { path, isQuoted: false };
}

/** Returns the longest existing path before a quote, else the text up to the next quote. */
function quotedPath(text: string, exists: (path: string) => boolean): string | undefined {
  const [line = ""] = text.slice(1).split("\n", 1);
  const paths = beginningsOf(line, /"/g);
  return paths.toReversed().find(exists) ?? (paths[0] || undefined);
}

/** Possible ends of a name: a blank, punctuation, a quote, a bracket, or a character of another script. */
const nameEnd = /\s|\.+(?![.\p{L}\p{N}_])|[^\p{Script=Latin}\p{M}\p{N}\s._~+=%@$&/\\-]/gu;

/** The beginnings of a text that can be a name, longest first. */
function possibleNames(text: string): { name: string; rest: string }[] {
  const wordEnd = text.search(/\s|$/);
  const [longest = ""] = text.slice(0, wordEnd + MAX_MORE_CHARS).split("\n", 1);
  const names = [...beginningsOf(longest, nameEnd), longest].filter((name) => name !== "");
  return names.toReversed().map((name) => ({ name, rest: text.slice(name.length) }));
}

/** The text up to each match of an expression, shortest first. */
function beginningsOf(text: string, end: RegExp): string[] {
  const beginnings: string[] = [];
  for (const { index } of text.matchAll(end)) if (beginnings.push(text.slice(0, index)) >= MAX_NAMES) break;
  return beginnings;
}

/** True if a folder's name is only the beginning of a longer one: `app/` in `app/[id]/gone.ts`. */
function isPartOfLongerName(name: string, rest: string): boolean {
  return name.endsWith("/") && /^[([{]/.test(rest);
}

const plain = "[^\\s\"'`<>()[\\]{}]";
/** A name without a file. It includes brackets in pairs. */
const unknownName = new RegExp(`^(?:${plain}|\\(${plain}*\\)|\\[\\[?${plain}*\\]?\\]|\\{${plain}*\\})+`);
const punctuation = /(?<![.,;:!?])[.,;:!?]+$/;

/** The media type of an image that models accept, by its first bytes. */
export function imageType(bytes: Buffer): string | undefined {
  const head = bytes.toString("latin1", 0, 12);
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
