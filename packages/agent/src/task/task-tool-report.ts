import { fileOperations } from "@bonsai-agent/compaction";
import { addUsage, emptyUsage, type Message, type Usage } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { type ChangedFile, changedFiles } from "../listing/changed-files.ts";

/** Files that each list of a result has at most: the ones that were touched last. */
const LISTED_FILES = 2_000;

/** What the result of a task tells beside the answer. Compaction carries the file lists over. */
export interface TaskDetails {
  /** Absent where the parent's session is in memory. */
  sessionFile?: string;
  /** Sorted; without the modified ones. */
  readFiles: string[];
  /** Sorted. */
  modifiedFiles: string[];
  /** With the lines that edits and writes added and removed. */
  changedFiles: ChangedFile[];
  /** Requests to the model for the task itself. */
  turns: number;
  /** Answers, summaries and whatever else was asked of models. */
  usage: Usage;
}

/** Reads it from the session of the sub-agent, also from what was summarised on the way. */
export function taskDetails(session: Session, turns: number): TaskDetails {
  const entries = session.entries();
  const messages = entries.flatMap((entry): Message[] => (entry.type === "message" ? [entry.message] : []));
  const { read, modified } = fileOperations(messages);
  return {
    ...(session.file === undefined ? {} : { sessionFile: session.file }),
    readFiles: read.slice(0, LISTED_FILES).sort(),
    modifiedFiles: modified.slice(0, LISTED_FILES).sort(),
    changedFiles: changedFiles(messages, session.cwd).slice(-LISTED_FILES),
    turns,
    usage: entries.reduce((sum, entry) => addUsage(sum, usageOf(entry)), emptyUsage()),
  };
}

function usageOf(entry: Entry): Usage {
  if (entry.type === "message") return ("usage" in entry.message && entry.message.usage) || emptyUsage();
  return ("usage" in entry && entry.usage) || emptyUsage();
}
