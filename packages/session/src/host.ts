/** For programs that keep session files and read entries themselves; an agent needs `.` alone. */

export { contentOf, imageMark, isMasked, isOutput, MASK_PLACEHOLDER } from "./edited-content.ts";
export { hiddenLookup, recallableEntry } from "./hidden.ts";
export { hideableMessages, isHiding, toggleHidden } from "./hide.ts";
export { addMissingEntries } from "./missing-entries.ts";
export { asStored, compactionChange, isLeafRecord, UndoneCompactions } from "./own-entries.ts";
export { editedMessage, isRestored, projectEntry, unmaskedMessage } from "./projection.ts";
export { sqlite } from "./search/index-database.ts";
export { sessionFiles } from "./session-list.ts";
export { summarizeSession, userWords } from "./session-summary.ts";
export { readFrom } from "./store/jsonl-store.ts";
export { makeFolder, NewFile, streamNewFile, writeNewFile, writeSessionFile } from "./store/new-file.ts";
