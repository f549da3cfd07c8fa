export { convertToLlm, serializeConversation } from "@bonsai-agent/extension";
export { uuidv7 } from "../ai/uuidv7.ts";
export {
  createBashTool,
  createEditTool,
  createReadTool,
  createWriteTool,
} from "../coding-agent/create-tools.ts";
export { compact, generateSummary } from "../coding-agent/summaries.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  GREP_MAX_LINE_LENGTH,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../coding-agent/truncate.ts";
export {
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  getLastAssistantUsage,
  shouldCompact,
} from "../coding-agent/usage.ts";
