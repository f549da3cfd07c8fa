export { Agent, type CompactOptions, type MergeOptions, type NavigateOptions } from "./agent.ts";
export type { AgentOptions, PromptOptions } from "./agent-parts.ts";
export type { AgentState, ContextUsage } from "./agent-state.ts";
export type {
  CommandGuardResult,
  CommandOperations,
  CommandOutput,
  CommandRun,
  InputResult,
  ResourcePaths,
  RunCommand,
  RunEvents,
  SessionEvents,
  SessionStartReason,
} from "./events.ts";
export { compactionEventNames, type LifecycleEvents, lifecycleEventRules } from "./lifecycle.ts";
export { type AgentNotice, modelNotice } from "./notice.ts";
export { type OpenAgentOptions, openAgent } from "./open-agent.ts";
export {
  type ProjectInstruction,
  type ProjectInstructionsOptions,
  projectInstructions,
} from "./prompt/project-instructions.ts";
export {
  type GivenPrompt,
  overheadTexts,
  type RequestOverhead,
  requestOverhead,
  type SystemPromptOptions,
  systemPrompt,
} from "./prompt/system-prompt.ts";
export {
  type FindRecalledOptions,
  type FindsEntries,
  findRecalled,
  type RecallFindings,
} from "./recall/recall-search.ts";
export {
  type ReadSkills,
  type ReadSkillsOptions,
  readSkills,
  type Skill,
  type SkillPlace,
  type SkillProblem,
  skillMessage,
} from "./resources/skills.ts";
export type {
  ConfirmLongRun,
  CustomInput,
  ExpandInput,
  Expansion,
  InputSource,
  LongRun,
  PromptInput,
  QueuedInput,
  RunFollower,
  RunResult,
  SendMessageOptions,
  StreamingBehavior,
} from "./run/queue.ts";
export { type SummariserForOptions, summariserFor, summariserSizes } from "./run/summariser.ts";
export type { UserCommandOptions } from "./run/user-command.ts";
export {
  type AgentSettings,
  type AgentSettingsInput,
  agentSettingDescription,
  agentSettings,
  agentSettingsSchema,
} from "./settings.ts";
export { type BuiltinToolsOptions, builtinTools } from "./tools/builtin-tools.ts";
export type { ConfirmPath, PathRequest } from "./tools/path-guard.ts";
export {
  type SubAgent,
  type TaskCall,
  type TaskDetails,
  type TaskToolOptions,
  taskTool,
} from "./tools/task-tool.ts";
export {
  defineTool,
  type Tool,
  type ToolDefinition,
  type ToolExecution,
  ToolRegistry,
  type ToolResult,
} from "./tools/tool-registry.ts";
