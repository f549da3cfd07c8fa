export { uuidv7 } from "../ai/uuidv7.ts";
export { convertToLlm } from "../coding-agent/convert-to-llm.ts";
export {
  createBashTool,
  createEditTool,
  createReadTool,
  createWriteTool,
} from "../coding-agent/create-tools.ts";
export { serializeConversation } from "../coding-agent/serialize-conversation.ts";
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
