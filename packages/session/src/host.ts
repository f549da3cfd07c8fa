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
export { asStored, compactionChange, isCompanion, isLeafRecord, UndoneCompactions } from "./own-entries.ts";
export { changesView, editedMessage, projectEntry } from "./projection.ts";
export { recentSettings } from "./read/tail.ts";
export { countBranches } from "./read/tree.ts";
export { NewFile, sessionFileName, writeSessionFile } from "./store/new-file.ts";
