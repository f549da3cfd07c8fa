import type { OwnScripts } from "./own-scripts.ts";
import { isReadOnly } from "./read-only.ts";
import { readLine, type ShellCommand, UnreadableLine } from "./shell-line.ts";

/** A part of a line that needs a question. */
export interface Objection {
  command: string;
  reason: string;
}

interface Rules {
  scripts: OwnScripts;
  /** The folder in which the line starts. */
  folder: string;
  /** Commands that the user always allows. */
  isAllowed: (command: string) => boolean;
  /** Commands that the user also wants to be asked about. */
  isAsked: (command: string) => boolean;
}

/** Returns the parts of a line that need a question. An empty list lets the line run. */
export function objections(line: string, rules: Rules): Objection[] {
  let commands: ShellCommand[];
  try {
    commands = readLine(line);
  } catch (error) {
    if (!(error instanceof UnreadableLine)) throw error;
    return [{ command: line, reason: `the gate cannot read it surely: ${error.message}` }];
  }
  let folder = rules.folder;
  let isMoving = !commands.some(({ after }) => after === "&");
  return commands.flatMap((command, at) => {
    // Only a `cd` at the start surely moves everything after it.
    const next = commands[at + 1]?.after ?? ";";
    const entered =
      isMoving && /^(?:;|&&)$/.test(next) ? enteredFolder(command, folder, rules.scripts) : undefined;
    isMoving = entered !== undefined;
    folder = entered ?? folder;
    const text = commandText(command);
    const reason = rules.isAsked(text)
      ? "it matches gate-also"
      : isMoving
        ? undefined
        : reasonOf(command, { text, folder, rules });
    return reason === undefined ? [] : [{ command: text, reason }];
  });
}

function enteredFolder(
  { words, writes }: ShellCommand,
  folder: string,
  scripts: OwnScripts,
): string | undefined {
  const [program, path, ...rest] = words;
  if (program?.text !== "cd" || path === undefined || path.isPattern || path.text.startsWith("-"))
    return undefined;
  return rest.length + writes.length > 0 ? undefined : scripts.enter(path.text, folder);
}

interface Case {
  /** The command in words. */
  text: string;
  folder: string;
  rules: Rules;
}

function reasonOf(command: ShellCommand, { text, folder, rules }: Case): string | undefined {
  const [program] = command.words;
  if (isReadOnly(command)) return program?.text === "git" ? rules.scripts.gitObjection() : undefined;
  const written = command.writes.find((file) => file.text !== "/dev/null");
  if (written !== undefined) return `it writes ${written.text}`;
  if (rules.isAllowed(text)) return undefined;
  if (program?.text === "cd") return "it leaves the project, or may leave it";
  return rules.scripts.objection(command.words, folder);
}

/** A command in words, with the files that it writes. */
function commandText({ words, writes }: ShellCommand): string {
  return [...words, ...writes.flatMap((file) => [{ text: ">" }, file])].map(({ text }) => text).join(" ");
}
