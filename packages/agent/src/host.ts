// For Bonsai's own packages. May change in any release.
export type { CommandOperations, PromptInput, ResourcePaths } from "./events.ts";
export { compactionEventNames, HandlerCalls } from "./lifecycle.ts";
export { modelNotice } from "./notice.ts";
export type { ProjectInstruction } from "./prompt/project-instructions.ts";
export {
  type GivenPrompt,
  overheadTexts,
  type RequestOverhead,
  requestOverhead,
} from "./prompt/system-prompt.ts";
export { findRecalled } from "./recall/recall-search.ts";
export {
  commandCall,
  expandTemplate,
  type PromptTemplate,
  type PromptTemplates,
  readPromptTemplates,
} from "./resources/prompt-templates.ts";
export { frontmatterParts } from "./resources/resource-files.ts";
export { readSkillsWith, skillMessage } from "./resources/skills.ts";
export { summariserSizes } from "./run/summariser.ts";
export { shellElsewhere } from "./run/user-command.ts";
export { agentSettingDescription } from "./settings.ts";
export { bashTool } from "./tools/bash-tool.ts";
export { outputFolder } from "./tools/command-output.ts";
export { fileDiff, inFileQueue } from "./tools/files/file-change.ts";
export { fileKind, HEAD_BYTES } from "./tools/files/open-file.ts";
export { fitArguments } from "./tools/fit-arguments.ts";
export { environmentKeys, maskKeys } from "./tools/mask-keys.ts";
export { isInside, lookalikeName } from "./tools/path-guard.ts";
export {
  killRunningCommands,
  killTree,
  PROCESS_MARK,
  programPath,
  runningCommand,
  startProcess,
} from "./tools/process.ts";
export { MAX_RESULT_BYTES, MAX_RESULT_LINES } from "./tools/result-text.ts";
export { FolderWalk } from "./tools/search/folder-walk.ts";
export { globMatcher } from "./tools/search/globs.ts";
export { ExpressionWorker } from "./tools/search/script-search.ts";
