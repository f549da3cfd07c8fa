import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { extname } from "node:path";
import { fileKind } from "@bonsai-agent/agent/host";
import { clipboardWriters, writeClipboard } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome, SESSION_VERSION } from "@bonsai-agent/session";
import { CustomEditor } from "./custom-editor.ts";
import { BorderedLoader } from "./drawing.ts";

export { convertToLlm, defineTool, serializeConversation } from "@bonsai-agent/extension";
export { AgentSession } from "../sdk/agent-session.ts";
export { createAgentSession } from "../sdk/create-agent-session.ts";
export { resolveCliModel, resolveModelScopeWithDiagnostics } from "../sdk/model-resolver.ts";
export { ModelRuntime } from "../sdk/model-runtime.ts";
export { DefaultResourceLoader, loadProjectContextFiles } from "../sdk/resource-loader.ts";
export { PiOwnTheme as Theme } from "../theme.ts";
export { createLocalBashOperations } from "../tools/bash-operations.ts";
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
  isBashToolResult,
  isEditToolResult,
  isFindToolResult,
  isGrepToolResult,
  isLsToolResult,
  isPowerShellToolResult,
  isReadToolResult,
  isToolCallEventType,
  isWriteToolResult,
  withFileMutationQueue,
} from "../tools/create-tools.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../tools/truncate.ts";
export {
  collectEntriesForBranchSummary,
  findCutPoint,
  findTurnStartIndex,
  getLastAssistantUsage,
  prepareBranchEntries,
} from "./compactions.ts";
export { formatReadLineRange, generateDiffString, generateUnifiedPatch, renderDiff } from "./diffs.ts";
export {
  DynamicBorder,
  getMarkdownTheme,
  getSelectListTheme,
  getSettingsListTheme,
  highlightCode,
  keyHint,
  keyText,
  rawKeyHint,
} from "./drawing.ts";
export { parseFrontmatter, stripFrontmatter } from "./frontmatter.ts";
export { convertToPng, formatDimensionNote, resizeImage } from "./images.ts";
export { SessionManager } from "./session-manager.ts";
export {
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  getLatestCompactionEntry,
  migrateSessionEntries,
  parseSessionEntries,
  sessionEntryToContextMessages,
  shouldCompact,
} from "./sessions.ts";
export { SettingsManager } from "./settings-manager.ts";
export {
  createSyntheticSourceInfo,
  formatSkillsForPrompt,
  loadSkills,
  loadSkillsFromDir,
  parseSkillBlock,
} from "./skills.ts";
export { compact, generateBranchSummary, generateSummary, generateSummaryWithUsage } from "./summaries.ts";
export { BorderedLoader, CustomEditor };

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

/** @throws BonsaiError `pi_clipboard_missing` where no program of the system takes a text */
export async function copyToClipboard(text: string): Promise<void> {
  if ((await writeClipboard(text)) !== undefined) return;
  throw new BonsaiError({
    code: "pi_clipboard_missing",
    message: `Could not copy the text. Tried ${clipboardWriters().join(", ")}.`,
    hint: "Install one of them.",
  });
}

type Listener = (data: unknown) => void;

/** A bus of one's own; `pi.events` is the one that extensions share. */
export function createEventBus(): {
  emit(channel: string, data: unknown): void;
  on(channel: string, listener: Listener): () => void;
  clear(): void;
} {
  const channels = new Map<string, Set<Listener>>();
  return {
    emit(channel, data) {
      for (const listener of [...(channels.get(channel) ?? [])]) listener(data);
    },
    on(channel, listener) {
      const listeners = channels.get(channel) ?? new Set<Listener>();
      channels.set(channel, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    clear: () => channels.clear(),
  };
}

const languages: Readonly<Record<string, string>> = {
  ".ts": "typescript",
  ".tsx": "typescript",
  ".mts": "typescript",
  ".js": "javascript",
  ".jsx": "javascript",
  ".mjs": "javascript",
  ".cjs": "javascript",
  ".py": "python",
  ".rs": "rust",
  ".go": "go",
  ".java": "java",
  ".kt": "kotlin",
  ".swift": "swift",
  ".c": "c",
  ".h": "c",
  ".cpp": "cpp",
  ".hpp": "cpp",
  ".cs": "csharp",
  ".rb": "ruby",
  ".php": "php",
  ".sh": "bash",
  ".bash": "bash",
  ".zsh": "bash",
  ".json": "json",
  ".yaml": "yaml",
  ".yml": "yaml",
  ".toml": "toml",
  ".md": "markdown",
  ".html": "html",
  ".css": "css",
  ".scss": "scss",
  ".sql": "sql",
  ".lua": "lua",
};

/** The language of a file by its name's end. */
export function getLanguageFromPath(path: string): string | undefined {
  return languages[extname(path).toLowerCase()];
}

/** The shell that runs commands, and what stands before one. */
export function getShellConfig(shellPath?: string): { shell: string; args: string[] } {
  const known = existsSync("/bin/bash") ? "/bin/bash" : "bash";
  return { shell: shellPath ?? known, args: ["-c"] };
}

/** By the first bytes: the type of an image that providers take; null for any other file. */
export async function detectSupportedImageMimeTypeFromFile(path: string): Promise<string | null> {
  const file = await open(path);
  try {
    const kind = await fileKind(file);
    return kind.kind === "image" ? kind.mimeType : null;
  } finally {
    await file.close();
  }
}
