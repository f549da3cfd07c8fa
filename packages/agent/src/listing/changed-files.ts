import { isAbsolute, normalize, relative } from "node:path";
import { fileOperations } from "@bonsai-agent/compaction";
import { type Message, type ToolCall, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import { type LineChanges, linesByArguments } from "./changed-files-lines.ts";

/** A file that was edited or written, with the lines that were added and removed, summed over all changes. */
export interface ChangedFile extends LineChanges {
  /** Relative to the project where it is inside. */
  path: string;
}

/**
 * The files that the edits and writes among these messages changed, the one that was changed last at the end. What a
 * tool counted is taken; without it, the call's arguments tell. Failed calls and commands do not count.
 */
export function changedFiles(messages: readonly Message[], cwd: string): ChangedFile[] {
  const changes = new ChangedFiles(cwd);
  for (const message of messages) changes.read(message);
  return changes.list();
}

/** Sums up changes by file. */
export class ChangedFiles {
  readonly #cwd: string;
  readonly #byPath = new Map<string, ChangedFile>();
  /** Calls whose results have not been read. */
  readonly #calls = new Map<string, ToolCall>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Adds what one message of a session changed; calls come before their results. */
  read(message: Message): void {
    for (const call of toolCalls(message)) this.#calls.set(call.id, call);
    if (message?.role !== "toolResult") return;
    for (const change of changesBy(message, this.#calls.get(message.toolCallId)))
      this.add({ ...change, path: projectPath(change.path, this.#cwd) });
    this.#calls.delete(message.toolCallId);
  }

  add({ path, added, removed }: ChangedFile): void {
    const known = this.#byPath.get(path);
    // Taken out first, so that it stands at the end.
    this.#byPath.delete(path);
    this.#byPath.set(path, {
      path,
      added: added + (known?.added ?? 0),
      removed: removed + (known?.removed ?? 0),
    });
  }

  /** The one that was changed last at the end. */
  list(): ChangedFile[] {
    return [...this.#byPath.values()];
  }
}

function changesBy(result: ToolResultMessage, call: ToolCall | undefined): ChangedFile[] {
  const details = isRecord(result.details) ? result.details : {};
  // A sub-agent that failed has changed what it has changed.
  if (Array.isArray(details.changedFiles)) return details.changedFiles.filter(isChangedFile);
  if (result.isError) return [];
  if (isCount(details.added) && isCount(details.removed)) return counted(details, call);
  return call === undefined ? [] : byArguments(call);
}

/** What the tool itself counted; a write that changed nothing is none. */
function counted(details: Record<string, unknown>, call: ToolCall | undefined): ChangedFile[] {
  const { added, removed, created, path = call?.arguments?.path } = details;
  if (typeof path !== "string" || (added === 0 && removed === 0 && created !== true)) return [];
  return [{ path, added: added as number, removed: removed as number }];
}

function byArguments(call: ToolCall): ChangedFile[] {
  // Commands are no edits; a patch that is run as a command is one.
  const { lines, patched } = linesByArguments(call);
  if (patched.length > 0) return patched;
  if (lines === undefined) return [];
  const message = { role: "assistant", content: [call] } as unknown as Message;
  const [path] = fileOperations([message]).modified;
  return path === undefined ? [] : [{ path, ...lines }];
}

function projectPath(path: string, cwd: string): string {
  const inside = isAbsolute(path) ? relative(cwd, path) : normalize(path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside.replaceAll("\\", "/");
}

function isChangedFile(value: unknown): value is ChangedFile {
  return isRecord(value) && typeof value.path === "string" && isCount(value.added) && isCount(value.removed);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
