export { Agent } from "./agent.ts";
export type { AgentOptions, PromptOptions } from "./agent-options.ts";
export type { AgentState, ContextUsage } from "./agent-state.ts";
export type { CommandOperations } from "./command-operations.ts";
export type { ConfirmPath, PathRequest } from "./confirm-path.ts";
export { type LifecycleEvents, lifecycleEventRules } from "./events/lifecycle-events.ts";
export type { CommandGuardResult, InputResult, RunEvents } from "./events/run-events.ts";
export type { SessionEvents, SessionStartReason } from "./events/session-events.ts";
export { type FixedContext, fixedContext, fixedTexts } from "./fixed-context.ts";
export { modelNotice } from "./model-notice.ts";
export type { NavigateOptions } from "./navigation.ts";
export type { AgentNotice } from "./notice.ts";
export { type OpenAgentOptions, openAgent } from "./open-agent.ts";
export { OwnWork } from "./own-work.ts";
export {
  type ProjectInstruction,
  type ProjectInstructionsOptions,
  projectInstructions,
} from "./project-instructions.ts";
export type { CustomInput, SendMessageOptions } from "./run/custom-input.ts";
export type { InputSource, PromptInput, QueuedInput, StreamingBehavior } from "./run/prompt-input.ts";
export type { ConfirmLongRun, LongRun } from "./run/request-limit.ts";
export type { RunFollower } from "./run/run-follower.ts";
export type { RunResult } from "./run/run-result.ts";
export type { CommandOutput, CommandRun, RunCommand } from "./run-command.ts";
export { agentSettings } from "./settings/settings.ts";
export {
  type AgentSettings,
  type AgentSettingsInput,
  agentSettingsSchema,
} from "./settings/settings-schema.ts";
export { type SummariserForOptions, summariserFor, summariserSizes } from "./summary/model-summariser.ts";
export { type SystemPromptOptions, systemPrompt } from "./system-prompt.ts";
export { type SubAgent, type TaskToolOptions, taskTool } from "./task/task-tool.ts";
export type { TaskDetails } from "./task/task-tool-report.ts";
export { defineTool, type Tool, type ToolDefinition, type ToolExecution, type ToolResult } from "./tool.ts";
export { ToolRegistry } from "./tool-registry.ts";
export { type BuiltinToolsOptions, builtinTools } from "./tools/builtin-tools.ts";
export { ExpressionWorker } from "./tools/expression-worker.ts";
export { inFileQueue } from "./tools/file-queue.ts";
export { globMatcher } from "./tools/glob-matcher.ts";
export { killRunningCommands, runningCommand } from "./tools/running-commands.ts";
export { type ProcessToStart, startProcess } from "./tools/start-process.ts";
export { FolderWalk, type WalkedEntry } from "./tools/walk-folder.ts";
export type { UserCommandOptions } from "./user-command.ts";
