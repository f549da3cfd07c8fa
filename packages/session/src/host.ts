/** For programs that keep session files and read entries themselves; an agent needs `.` alone. */
export { asStored } from "./companions.ts";
export { recentSettings } from "./latest-entries.ts";
export { compactionChange, isCompanion, isLeafRecord, UndoneCompactions } from "./own-entries.ts";
export { editedMessage, type KeptPart, projectEntry, ViewSeeker } from "./projection.ts";
export { NewFile, sessionFileName, writeSessionFile } from "./session-file.ts";
