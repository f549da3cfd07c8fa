export { convertToLlm, serializeConversation } from "@bonsai-agent/extension";
export { messageText as bashExecutionToText } from "@bonsai-agent/messages";
export { Agent } from "../agent/agent.ts";
export { agentLoop, agentLoopContinue, runAgentLoop, runAgentLoopContinue } from "../agent/loop.ts";
export { createBashTool, createEditTool, createReadTool, createWriteTool } from "../tools/create-tools.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  GREP_MAX_LINE_LENGTH,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../tools/truncate.ts";
export {
  collectEntriesForBranchSummary,
  estimateContextTokens,
  findCutPoint,
  findTurnStartIndex,
  getLastAssistantUsage,
  prepareBranchEntries,
  prepareCompaction,
} from "./compactions.ts";
export {
  calculateContextTokens,
  createBranchSummaryMessage,
  createCompactionSummaryMessage,
  createCustomMessage,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  shouldCompact,
  uuidv7,
} from "./sessions.ts";
export { compact, generateBranchSummary, generateSummary, generateSummaryWithUsage } from "./summaries.ts";
