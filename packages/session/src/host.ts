/** For programs that keep session files and read entries themselves; an agent needs `.` alone. */

export {
  clippedContent,
  contentOf,
  imageMark,
  isDeliberateEdit,
  isMasked,
  isMaskedContent,
  isOutput,
  MASK_PLACEHOLDER,
} from "./edited-content.ts";
export {
  hiddenEntries,
  hiddenLookup,
  hidesEntries,
  recallableEntry,
} from "./hidden.ts";
export { recentSettings } from "./latest-entries.ts";
export { compactionChange, isCompanion, isLeafRecord, UndoneCompactions } from "./own-entries.ts";
export { changesView, editedMessage, projectEntry } from "./projection.ts";
export { asStored } from "./read/companions.ts";
export { writeSessionFile } from "./store/line-writer.ts";
export { NewFile } from "./store/new-file.ts";
export { sessionFileName } from "./store/session-folder.ts";
