export { Agent, type CompactOptions, type MergeOptions, type NavigateOptions } from "./agent.ts";
export type { PromptInput, RunResult, StreamingBehavior } from "./events.ts";
export { type LifecycleEvents, lifecycleEventRules } from "./lifecycle.ts";
export type { AgentNotice } from "./notice.ts";
export { openAgent } from "./open-agent.ts";
export { projectInstructions } from "./prompt/project-instructions.ts";
export { findRecalled } from "./recall/recall-search.ts";
export { expandResourceCall, readPromptTemplates } from "./resources/prompt-templates.ts";
export { readSkills, type Skill } from "./resources/skills.ts";
export type { PromptOptions } from "./run/agent-parts.ts";
export type { AgentState } from "./run/agent-state.ts";
export type { ConfirmMoreRequests, Expansion } from "./run/queue.ts";
export { summariserFor } from "./run/summariser.ts";
export {
  type AgentSettings,
  type AgentSettingsInput,
  agentSettings,
  agentSettingsSchema,
} from "./settings.ts";
export type { TaskDetails } from "./task-tool.ts";
export { builtinTools } from "./tools/builtin-tools.ts";
export { outputFolder } from "./tools/command-output.ts";
export { maskKeys } from "./tools/mask-keys.ts";
export type { ConfirmPath } from "./tools/path-guard.ts";
export { MAX_RESULT_BYTES, MAX_RESULT_LINES } from "./tools/result-text.ts";
export { defineTool, type Tool, ToolRegistry, type ToolResult } from "./tools/tool-registry.ts";
