import { skillCallIn, withoutSkill } from "./skill-call.ts";

/** A message, and the files that it names and that were sent with it: a skill that it calls, and those behind an `@`. */
export interface QuotedFiles {
  /** What was typed. */
  text: string;
  files: { path: string; content: string }[];
}

const opening = /\n\n<file path=("(?:[^"\\]|\\.)*")>\n/g;
const closing = "\n</file>";
/** Of more, the first: nobody names so many files in one message, and each is looked for in the text. */
const MAX_OPENINGS = 200;

/** Tells what was typed from the files behind it; what only looks like one stays where it stands. */
export function quotedFiles(sent: string): QuotedFiles {
  const skill = skillCallIn(sent);
  const said = attachedTexts(skill === undefined ? sent : withoutSkill(sent));
  const { text, files } = mentionedFiles(said.text);
  const skills = skill === undefined ? [] : [{ path: skill.path, content: skill.body }];
  return { text, files: [...skills, ...files, ...said.files] };
}

/** The tags of piped input, and of resources of MCP servers; both follow the typed text and its files. */
const attachment =
  /\n\n<(stdin|mcp-resource)(?: server=("(?:[^"\\]|\\.)*") uri=("(?:[^"\\]|\\.)*")[^\n]*)?>\n/g;

function attachedTexts(sent: string): QuotedFiles {
  if (!/<\/(?:stdin|mcp-resource)>$/.test(sent)) return { text: sent, files: [] };
  const begun = [...sent.matchAll(attachment)].slice(0, MAX_OPENINGS);
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
  if (!sent.endsWith(closing)) return { text: sent, files: [] };
  let typed: string | undefined;
  const begun: { path: string; at: number; from: number }[] = [];
  for (const { 0: tag, 1: quoted = '""', index: at } of [...sent.matchAll(opening)].slice(0, MAX_OPENINGS)) {
    const path = pathOf(quoted);
    const text = typed ?? sent.slice(0, at);
    if (!text.includes(`@${path}`) && !text.includes(`@"${path}"`)) continue;
    typed = text;
    begun.push({ path, at, from: at + tag.length });
  }
  const files = begun.map(({ path, from }, at) => {
    const content = sent.slice(from, begun[at + 1]?.at);
    return { path, content: content.endsWith(closing) ? content.slice(0, -closing.length) : content };
  });
  return { text: typed ?? sent, files };
}

function pathOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // Nobody has sent this as the name of a file: it is found in no text.
    return quoted;
  }
}
