import { contentText, type Message, skillCallIn, toolCalls, withoutReminders } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { highTokens } from "../plan/budget.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";
import { storedDetails } from "./details.ts";
import { fileLine, readBy } from "./files.ts";

/** A skill whose text was before the model, and no longer is. */
export interface ReadSkill {
  /** As the user called it, or its folder's. */
  name: string;
  /** Of its file, as the model wrote it or was given it. */
  path: string;
  /** When it was read last, in milliseconds since the epoch; absent where nobody knows. */
  readMs?: number;
  /** What became of the file since; absent for nothing, and where nobody knows. */
  now?: "changed" | "gone";
}

/** When a file was changed last, in milliseconds since the epoch; undefined for one that is not there. */
export type FileChange = (path: string) => number | undefined;

/** Those that a summary shows; the others are counted. */
const SHOWN_SKILLS = 20;
const SHOWN_TOKENS = 400;
/** Those that the details keep. */
const STORED_SKILLS = 200;

/**
 * The skills that were read in a span or that earlier summaries list, the latest first: a file named SKILL.md that a call
 * read, whichever folder it is in, and a skill that the user called. One that was changed here is work, not a skill.
 * @param modified files that were changed, in the span or before
 * @param changedMs default: nobody looks
 */
export function readSkills(
  span: readonly ViewItem[],
  earlier: ReadonlyArray<Entry | undefined>,
  { modified, changedMs }: { modified: ReadonlySet<string>; changedMs?: FileChange | undefined },
): ReadSkill[] {
  const all = [...earlier.flatMap(listedSkills), ...skillsIn(span)];
  const latest: ReadSkill[] = [];
  for (const skill of all.reverse())
    if (!modified.has(skill.path) && !latest.some((each) => isSame(each, skill))) latest.push(skill);
  return latest.slice(0, STORED_SKILLS).map((skill) => asNow(skill, changedMs));
}

/** Oldest first. A call whose result is an error read nothing. */
function skillsIn(span: readonly ViewItem[]): ReadSkill[] {
  const failed = new Set<string>();
  for (const item of span) {
    const message = originalMessage(item);
    if (message.role === "toolResult" && message.isError) failed.add(message.toolCallId);
  }
  return span.flatMap((item) => {
    const readMs = Date.parse(String(item.entry?.timestamp));
    const at = Number.isNaN(readMs) ? {} : { readMs };
    return skillsOf(originalMessage(item), failed).map((skill) => ({ ...skill, ...at }));
  });
}

function skillsOf(message: Message, failed: ReadonlySet<string>): ReadSkill[] {
  if (message.role === "user") {
    const call = skillCallIn(withoutReminders(contentText(message.content)).trim());
    return call === undefined ? [] : [{ name: call.name, path: call.path }];
  }
  return toolCalls(message)
    .filter(({ id }) => !failed.has(id))
    .flatMap(readBy)
    .flatMap((path) => {
      const [name, file] = path.split(/[/\\]/).slice(-2);
      return file === "SKILL.md" && name !== undefined ? [{ name, path }] : [];
    });
}

/** By their file, also where it is named from another folder. */
function isSame(a: ReadSkill, b: ReadSkill): boolean {
  if (a.path === b.path) return true;
  const [short, long] = [a.path, b.path].map(plainPath).sort((x, y) => x.length - y.length);
  return a.name === b.name && `/${long}`.endsWith(`/${short}`);
}

function plainPath(path: string): string {
  return path.replaceAll("\\", "/").replace(/^(?:~|\.)?\//, "");
}

function asNow({ name, path, readMs }: ReadSkill, changedMs: FileChange | undefined): ReadSkill {
  const skill = { name, path, ...(readMs !== undefined && { readMs }) };
  if (changedMs === undefined) return skill;
  const changed = changedMs(path);
  if (changed === undefined) return { ...skill, now: "gone" };
  return readMs !== undefined && changed > readMs ? { ...skill, now: "changed" } : skill;
}

/** Of an earlier summary, oldest first. */
function listedSkills(entry: Entry | undefined): ReadSkill[] {
  return storedSkills(storedDetails(entry).readSkills).reverse();
}

/** As details hold them; what is damaged is left out. */
export function storedSkills(value: unknown): ReadSkill[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: unknown) => {
    const { name, path, readMs, now } = (each ?? {}) as Record<keyof ReadSkill, unknown>;
    if (typeof name !== "string" || typeof path !== "string") return [];
    return [
      {
        ...{ name, path },
        ...(typeof readMs === "number" && { readMs }),
        ...((now === "changed" || now === "gone") && { now }),
      },
    ];
  });
}

const notes = {
  changed: " (changed since)",
  gone: " (deleted)",
} as const;

/** The lines of the block of skills. */
export function skillLines(skills: readonly ReadSkill[]): string[] {
  const lines: string[] = [];
  let tokens = 0;
  for (const { name, path, now } of skills.slice(0, SHOWN_SKILLS)) {
    const line = `${fileLine(name)}: ${fileLine(path)}${now === undefined ? "" : notes[now]}`;
    tokens += highTokens(`${line}\n`);
    if (tokens > SHOWN_TOKENS && lines.length > 0) break;
    lines.push(line);
  }
  const others = skills.length - lines.length;
  return others === 0 ? lines : [...lines, `(and ${others} older)`];
}
