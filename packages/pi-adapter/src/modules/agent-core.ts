export { convertToLlm, serializeConversation } from "@bonsai-agent/extension";
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
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  getLastAssistantUsage,
  shouldCompact,
  uuidv7,
} from "./sessions.ts";
export { compact, generateSummary } from "./summaries.ts";
