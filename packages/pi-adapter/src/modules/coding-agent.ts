import { bonsaiHome, SESSION_VERSION } from "@bonsai-agent/session";
import { BorderedLoader } from "../coding-agent/bordered-loader.ts";
import { terminalOnly } from "../coding-agent/terminal-only.ts";

export { convertToLlm, defineTool, serializeConversation } from "@bonsai-agent/extension";
export { createLocalBashOperations } from "../coding-agent/bash-operations.ts";
export { copyToClipboard } from "../coding-agent/clipboard.ts";
export {
  createBashTool,
  createBashTool as createBashToolDefinition,
  createCodingTools,
  createEditTool,
  createEditTool as createEditToolDefinition,
  createFindTool,
  createFindTool as createFindToolDefinition,
  createGrepTool,
  createGrepTool as createGrepToolDefinition,
  createLsTool,
  createLsTool as createLsToolDefinition,
  createReadOnlyTools,
  createReadTool,
  createReadTool as createReadToolDefinition,
  createWriteTool,
  createWriteTool as createWriteToolDefinition,
} from "../coding-agent/create-tools.ts";
export {
  DynamicBorder,
  getMarkdownTheme,
  getSelectListTheme,
  getSettingsListTheme,
  highlightCode,
} from "../coding-agent/drawing.ts";
export { createEventBus } from "../coding-agent/event-bus.ts";
export { withFileMutationQueue } from "../coding-agent/file-mutation-queue.ts";
export { parseFrontmatter, stripFrontmatter } from "../coding-agent/frontmatter.ts";
export { keyHint, keyText, rawKeyHint } from "../coding-agent/keys.ts";
export { getLanguageFromPath } from "../coding-agent/language.ts";
export { buildSessionContext, SessionManager } from "../coding-agent/session-files.ts";
export { getShellConfig } from "../coding-agent/shell.ts";
export { compact, generateSummary, generateSummaryWithUsage } from "../coding-agent/summaries.ts";
export {
  isBashToolResult,
  isEditToolResult,
  isFindToolResult,
  isGrepToolResult,
  isLsToolResult,
  isPowerShellToolResult,
  isReadToolResult,
  isToolCallEventType,
  isWriteToolResult,
} from "../coding-agent/tool-guards.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../coding-agent/truncate.ts";
export {
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  getLastAssistantUsage,
  getLatestCompactionEntry,
  shouldCompact,
} from "../coding-agent/usage.ts";
export { BorderedLoader };

/** The folder in a project that has its settings and extensions. */
export const CONFIG_DIR_NAME = ".bonsai";
/** The version of pi whose names and shapes this package follows. */
export const VERSION = "0.87.1";
export const CURRENT_SESSION_VERSION = SESSION_VERSION;

/** Bonsai's own folder. */
export function getAgentDir(): string {
  return bonsaiHome();
}

/** Colours are the front end's; there is nothing to set up. */
export function initTheme(): void {}

export const CustomEditor = terminalOnly("CustomEditor");
export const Theme = terminalOnly("Theme");
