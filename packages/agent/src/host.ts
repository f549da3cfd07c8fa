// For programs around an agent: processes, files and searches as its own tools have them, and the system's clipboard.
export {
  type ClipboardCommand,
  type ClipboardOptions,
  clipboardWriters,
  type EndedProgram,
  isInWindows,
  programFailure,
  runClipboardProgram,
  writeClipboard,
} from "./clipboard.ts";
export {
  type Frontmatter,
  type FrontmatterParts,
  frontmatterParts,
  type ParseYaml,
  parseFrontmatter,
  readFrontmatter,
} from "./resources/frontmatter.ts";
export {
  commandCall,
  type ExpandedTemplate,
  expandTemplate,
  type PromptTemplate,
  type PromptTemplates,
  readPromptTemplates,
  type TemplateProblem,
} from "./resources/prompt-templates.ts";
export { readSkillsWith } from "./resources/skills.ts";
export { templateArguments } from "./resources/template-arguments.ts";
export { HandlerCalls } from "./run/activity.ts";
export { shellElsewhere } from "./run/user-command.ts";
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
  type ProcessToStart,
  programPath,
  runningCommand,
  startProcess,
} from "./tools/process.ts";
export { MAX_RESULT_BYTES, MAX_RESULT_LINES } from "./tools/result-text.ts";
export { FolderWalk, type WalkedEntry } from "./tools/search/folder-walk.ts";
export { globMatcher } from "./tools/search/globs.ts";
export { ExpressionWorker } from "./tools/search/line-search.ts";
