import { contentText, splitReminders } from "./text.ts";

// Separates the text that a user typed from the text that was sent for it. All functions are total.

/** A user's message. All fields may be damaged. */
interface SentMessage {
  role?: unknown;
  content?: unknown;
  typed?: unknown;
}

/** The typed text, with the names of sent files, without their contents. */
export function typedText(message: SentMessage): string {
  return typedCommand(message) ?? quotedFiles(ownText(message)).text;
}

/** A call of a template or skill as it was typed; any other text with the files sent with it. */
export function saidText(message: SentMessage): string {
  return typedCommand(message) ?? withoutSkill(ownText(message));
}

/** The request to the agent: the text as in `saidText`, then the text that a template made of it. */
export function askedText(message: SentMessage): string {
  const asked = new Set([typedCommand(message), withoutSkill(ownText(message))]);
  return [...asked].filter(Boolean).join("\n\n");
}

/** The typed line, if a different text was sent for it or it reads like a program's text. */
export function typedCommand({ typed }: SentMessage): string | undefined {
  return typeof typed === "string" && typed.trim() !== "" ? typed : undefined;
}

/** The text without reminders around a skill call. Empty if there are only reminders. */
function ownText({ content }: SentMessage): string {
  const text = contentText(content);
  const own = splitReminders(text).own.trim();
  return own === "" || skillCallIn(own) !== undefined ? own : text;
}

/** A skill call of the user, as it is sent. */
interface SkillCall {
  name: string;
  /** Its file; absolute if Bonsai sent it. */
  path: string;
  /** The file's text without the front matter. */
  body: string;
  /** The text after the name. */
  args: string;
}

// pi writes skills in the same form.
const SKILL_BLOCK =
  /^<skill name="([^"\n]+)" location="([^"\n]+)">\n([\s\S]*?)\n?<\/skill>(?:\n\n([\s\S]*))?$/;

/** The skill call in a message; undefined for other messages. */
export function skillCallIn(text: string): SkillCall | undefined {
  if (!text.startsWith("<skill ")) return undefined;
  const [, name, path, body, args = ""] = SKILL_BLOCK.exec(text) ?? [];
  if (name === undefined || path === undefined || body === undefined) return undefined;
  return { name: plain(name), path: plain(path), body, args };
}

/** A skill call as the user typed it: `/skill:name args`. Other texts stay as they are. */
function withoutSkill(text: string): string {
  const call = skillCallIn(text);
  return call === undefined ? text : `/skill:${call.name}${call.args === "" ? "" : ` ${call.args}`}`;
}

function plain(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#10;", "\n").replaceAll("&amp;", "&");
}

/** The text of a message and the files sent with it: a called skill, mentioned files, piped input, resources. */
interface QuotedFiles {
  /** The typed text. */
  text: string;
  files: { path: string; content: string }[];
}

const FILE_OPENING = /\n\n<file path=("(?:[^"\\]|\\.)*")>\n/g;
const FILE_CLOSING = "\n</file>";
/** Maximum opening tags that are read: each costs a search of the text. */
const MAX_OPENINGS = 200;

/** Separates the typed text from the files after it. A text that only looks like a file stays part of the text. */
export function quotedFiles(sent: string): QuotedFiles {
  const skill = skillCallIn(sent);
  const said = attachedTexts(skill === undefined ? sent : withoutSkill(sent));
  const { text, files } = mentionedFiles(said.text);
  const skills = skill === undefined ? [] : [{ path: skill.path, content: skill.body }];
  return { text, files: [...skills, ...files, ...said.files] };
}

/** The opening tags of piped input and of resources of MCP servers. */
const ATTACHMENT =
  /\n\n<(stdin|mcp-resource)(?: server=("(?:[^"\\]|\\.)*") uri=("(?:[^"\\]|\\.)*")[^\n]*)?>\n/g;

function attachedTexts(sent: string): QuotedFiles {
  if (!/<\/(?:stdin|mcp-resource)>$/.test(sent)) return { text: sent, files: [] };
  const begun = [...sent.matchAll(ATTACHMENT)].slice(0, MAX_OPENINGS);
  const files: QuotedFiles["files"] = [];
  let text = sent;
  for (const { 0: tag, 1: name = "", 2: server, 3: uri, index } of begun.toReversed()) {
    const end = `\n</${name}>`;
    const isNamed = name === "stdin" || (uri !== undefined && sent.slice(0, index).includes(pathOf(uri)));
    if (!text.endsWith(end) || !isNamed || sent.slice(0, index).trim() === "") break;
    const path = server === undefined || uri === undefined ? name : `${pathOf(server)}:${pathOf(uri)}`;
    files.unshift({ path, content: text.slice(index + tag.length, -end.length) });
    text = text.slice(0, index);
  }
  return { text, files };
}

function mentionedFiles(sent: string): QuotedFiles {
  if (!sent.endsWith(FILE_CLOSING)) return { text: sent, files: [] };
  let typed: string | undefined;
  const begun: { path: string; at: number; from: number }[] = [];
  for (const { 0: tag, 1: quoted = '""', index: at } of [...sent.matchAll(FILE_OPENING)].slice(
    0,
    MAX_OPENINGS,
  )) {
    const path = pathOf(quoted);
    const text = typed ?? sent.slice(0, at);
    if (!text.includes(`@${path}`) && !text.includes(`@"${path}"`)) continue;
    typed = text;
    begun.push({ path, at, from: at + tag.length });
  }
  const files = begun.map(({ path, from }, at) => {
    const content = sent.slice(from, begun[at + 1]?.at);
    return {
      path,
      content: content.endsWith(FILE_CLOSING) ? content.slice(0, -FILE_CLOSING.length) : content,
    };
  });
  return { text: typed ?? sent, files };
}

function pathOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // No sent file has this name.
    return quoted;
  }
}

/** A tag of several words, as programs use: `<task-notification>`, `<environment_context>`. */
const MACHINE_TAG = /^<([a-z][a-z\d]*(?:[-_][a-z\d]+)+)(?:\s[^<>]{0,500})?>/;
/** "Operation stopped by hook: …" */
const OF_A_HOOK =
  /^(?:[A-Z][\w-]{0,40} )?(?:operation|execution|continuation|request|prompt|tool(?: use| call)?) (?:was )?(?:stopped|blocked|denied|prevented|cancell?ed) by (?:[\w:-]{1,60} )?hook\b/i;
/** "System: Please continue." */
const OF_THE_SYSTEM = /^System: .{1,200}$/;

/**
 * True for a user message that a program wrote, by its form: only elements with tags of several words, a sentence about a
 * hook, or one line that begins with "System:".
 */
export function isProgramText(text: string): boolean {
  const whole = text.trim();
  return isMachineFrame(whole) || OF_A_HOOK.test(whole) || OF_THE_SYSTEM.test(whole);
}

function isMachineFrame(text: string): boolean {
  let rest = text;
  while (rest.startsWith("<")) {
    const [open = "", name = ""] = MACHINE_TAG.exec(rest) ?? [];
    const close = `</${name}>`;
    const at = name === "" ? -1 : rest.indexOf(close, open.length);
    if (at < 0) return false;
    rest = rest.slice(at + close.length).trimStart();
  }
  return rest === "" && text !== "";
}
