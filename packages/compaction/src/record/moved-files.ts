import { posix } from "node:path";
import { isRecord } from "@bonsai-agent/messages";
import { type Command, readCommands } from "./commands.ts";

/** A renamed or deleted file or folder. */
export interface Move {
  from: string;
  /** Absent for a deletion. */
  to?: string;
}

/**
 * The moves of a shell command, in order: `mv`, `git mv`, `rm`, `git rm`. Skips names that only a shell can expand.
 * @param output the output of a failed command. Its last part failed, and so did each program named in the output.
 */
export function movesOf(written: string, output?: string): Move[] {
  if (!/\b(?:mv|rm|unlink)\b/.test(written)) return [];
  const commands = readCommands(written).flatMap((group) => group.commands);
  const ran = output === undefined ? commands : commands.slice(0, -1).filter((each) => !names(output, each));
  return ran.flatMap(movesIn);
}

function names(output: string, { names: [program] }: Command): boolean {
  return output.split("\n").some((line) => line.startsWith(program === "git" ? "fatal:" : `${program}:`));
}

function movesIn({ words, folder = "" }: Command): Move[] {
  const [program, ...others] = words[0] === "git" ? words.slice(1) : words;
  const operands = others.filter((word) => !word.startsWith("-"));
  if (operands.some((word) => /[*?$`{}]/.test(word))) return [];
  const paths = operands.map((path) => {
    const joined = posix.isAbsolute(path) ? posix.normalize(path) : posix.join(folder, path);
    return joined.replace(/^\.\//, "");
  });
  if (program === "rm" || program === "unlink")
    return paths.map((from) => ({ from: from.replace(/\/$/, "") }));
  const to = paths.pop();
  if (program !== "mv" || to === undefined) return [];
  const isFolder = paths.length > 1 || to.endsWith("/");
  return paths.map((path) => {
    const from = path.replace(/\/$/, "");
    return { from, to: isFolder ? posix.join(to, posix.basename(from)) : to };
  });
}

const TARGETS = ["destination", "new_path", "newPath", "target", "to"];
const SOURCES = ["source", "old_path", "oldPath", "from", "path", "file_path", "filePath"];

/** The move of a call, by the name of its tool: `delete_file`, `move_file`. */
export function moveOfTool(name: string, args: Readonly<Record<string, unknown>>): Move[] {
  const textAt = (keys: readonly string[]) =>
    keys.map((key) => args[key]).find((value) => typeof value === "string");
  const from = textAt(SOURCES);
  if (typeof from !== "string") return [];
  if (/^(?:delete|remove)_?(?:file|dir|path|$)/i.test(name)) return [{ from }];
  const to = textAt(TARGETS);
  return /^(?:move|rename)/i.test(name) && typeof to === "string" ? [{ from, to }] : [];
}

/** The name of a file after some moves; undefined if it was deleted. */
export function movedFile(
  file: string,
  moves: readonly Move[],
  known: (file: string) => boolean,
): string | undefined {
  let name = file;
  for (const { from, to } of moves) {
    const at = placeIn(name, from);
    if (at === undefined) continue;
    if (to === undefined) return undefined;
    const [before, after] = [name.slice(0, at), name.slice(at + from.length)];
    const target = after === "" && known(`${before}${to}/`) ? posix.join(to, posix.basename(from)) : to;
    name = `${posix.isAbsolute(to) ? "" : before}${target}${after}`;
  }
  return name;
}

/** The index of a moved file or folder in a name. The name can be absolute. */
function placeIn(name: string, from: string): number | undefined {
  const isWhole = (end: number) => end === name.length || name[end] === "/";
  if (name.startsWith(from) && isWhole(from.length)) return 0;
  const at = name.indexOf(`/${from}`) + 1;
  // A bare name under an absolute folder can be a different file.
  return at > 0 && name.startsWith("/") && from.includes("/") && isWhole(at + from.length) ? at : undefined;
}

/** The files that a sub-agent lists as deleted. */
export function removedFilesIn(details: unknown): Move[] {
  const listed = isRecord(details) && Array.isArray(details.removedFiles) ? details.removedFiles : [];
  return listed.flatMap((from) => (typeof from === "string" ? [{ from }] : []));
}
