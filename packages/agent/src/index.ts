export { Agent, type CompactOptions, type MergeOptions, type NavigateOptions } from "./agent.ts";
export type { CustomInput, InputSource, RunCommand, RunResult, StreamingBehavior } from "./events.ts";
export { type LifecycleEvents, lifecycleEventRules } from "./lifecycle.ts";
export type { AgentNotice } from "./notice.ts";
export { type OpenAgentOptions, openAgent } from "./open-agent.ts";
export { projectInstructions } from "./prompt/project-instructions.ts";
export { systemPrompt } from "./prompt/system-prompt.ts";
export { readSkills, type Skill } from "./resources/skills.ts";
export type { AgentOptions, PromptOptions } from "./run/agent-parts.ts";
export type { AgentState } from "./run/agent-state.ts";
export type {
  ConfirmMoreRequests,
  ExpandInput,
  Expansion,
  QueuedInput,
  SendMessageOptions,
} from "./run/queue.ts";
export { summariserFor } from "./run/summariser.ts";
export {
  type AgentSettings,
  type AgentSettingsInput,
  agentSettings,
  agentSettingsSchema,
} from "./settings.ts";
export { type TaskDetails, taskTool } from "./task-tool.ts";
export { builtinTools } from "./tools/builtin-tools.ts";
export type { ConfirmPath } from "./tools/path-guard.ts";
export {
  defineTool,
  type Tool,
  type ToolExecution,
  ToolRegistry,
  type ToolResult,
} from "./tools/tool-registry.ts";
