// For Bonsai's own packages. May change in any release.
export { branchSummaryAsText, modelNotice } from "./notice.ts";
export { requestOverhead } from "./prompt/system-prompt.ts";
export { openedText } from "./recall/open-entry.ts";
export { clippedLine } from "./recall/recall-tool.ts";
export { displayId, numberedIds, type RecalledEntry, recalledEntry } from "./recall/recalled-entry.ts";
export { frontmatterParts } from "./resources/resource-files.ts";
export { HandlerCalls } from "./run/agent-parts.ts";
export { inFileQueue } from "./tools/files/file-change.ts";
export type { EditorFiles } from "./tools/files/open-file.ts";
export { fitArguments } from "./tools/fit-arguments.ts";
export { environmentKeys } from "./tools/mask-keys.ts";
export { isInside, lookalikeName } from "./tools/path-guard.ts";
export { killRunningCommands, programPath, startProcess, startTree } from "./tools/process.ts";
export { FolderWalk } from "./tools/search/folder-walk.ts";
export { globMatcher } from "./tools/search/globs.ts";
export { ExpressionWorker } from "./tools/search/script-search.ts";
export type { CommandOperations } from "./tools/shell-command.ts";
