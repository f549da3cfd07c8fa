import { extname } from "node:path";
import { frontmatterParts } from "@bonsai-agent/agent/host";
import { clipboardWriters, writeClipboard } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import { parse } from "yaml";

export { convertToLlm, defineTool, serializeConversation } from "@bonsai-agent/extension";
export { createAgentSession, SettingsManager } from "../sdk/create-agent-session.ts";
export { ModelRuntime, resolveCliModel } from "../sdk/model-runtime.ts";
export { DefaultResourceLoader } from "../sdk/resource-loader.ts";
export { SessionManager } from "../sdk/session-manager.ts";
export {
  createBashTool,
  createBashTool as createBashToolDefinition,
  createEditTool,
  createEditTool as createEditToolDefinition,
  createFindTool,
  createFindTool as createFindToolDefinition,
  createGrepTool,
  createGrepTool as createGrepToolDefinition,
  createLocalBashOperations,
  createLsTool,
  createLsTool as createLsToolDefinition,
  createReadOnlyTools,
  createReadTool,
  createReadTool as createReadToolDefinition,
  createWriteTool,
  createWriteTool as createWriteToolDefinition,
  isBashToolResult,
  isToolCallEventType,
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
export { BorderedLoader, CustomEditor, DynamicBorder } from "./components.ts";
export {
  getMarkdownTheme,
  getSettingsListTheme,
  highlightCode,
  keyHint,
  keyText,
  rawKeyHint,
} from "./drawing.ts";
export { resizeImage } from "./images.ts";

/** The folder in a project for its settings and extensions. */
export const CONFIG_DIR_NAME = ".bonsai";
/** The version of pi whose names and shapes this package follows. */
export const VERSION = "0.87.1";

/** Bonsai's own folder. */
export function getAgentDir(): string {
  return bonsaiHome();
}

/** Does nothing: the front end sets its colours up itself. */
export function initTheme(): void {}

/** @throws BonsaiError `pi_clipboard_missing` if no program of the system takes a text */
export async function copyToClipboard(text: string): Promise<void> {
  if ((await writeClipboard(text)) !== undefined) return;
  throw new BonsaiError({
    code: "pi_clipboard_missing",
    message: `Could not copy the text. Tried ${clipboardWriters().join(", ")}.`,
    hint: "Install one of them.",
  });
}

/** The YAML between two lines of dashes at the head of a text, and the text after it. @throws errors of the YAML */
export function parseFrontmatter<Fields extends object = Record<string, unknown>>(
  content: string,
): { frontmatter: Fields; body: string } {
  const { yaml, body } = frontmatterParts(content);
  if (yaml === undefined) return { frontmatter: {} as Fields, body };
  return { frontmatter: (parse(yaml) ?? {}) as Fields, body: body.trim() };
}

/** By language: the endings of its files. */
const ENDINGS: Readonly<Record<string, string>> = {
  typescript: "ts tsx mts cts",
  javascript: "js jsx mjs cjs",
  python: "py",
  rust: "rs",
  go: "go",
  java: "java",
  kotlin: "kt",
  swift: "swift",
  c: "c h",
  cpp: "cpp hpp",
  csharp: "cs",
  ruby: "rb",
  php: "php",
  bash: "sh bash zsh",
  json: "json",
  yaml: "yaml yml",
  toml: "toml",
  markdown: "md",
  html: "html",
  css: "css",
  scss: "scss",
  sql: "sql",
  lua: "lua",
};

/** The language of a file by its name's ending. */
export function getLanguageFromPath(path: string): string | undefined {
  const ending = extname(path).slice(1).toLowerCase();
  return Object.keys(ENDINGS).find((language) => ENDINGS[language]!.split(" ").includes(ending));
}

/** The lines of a call of `read` as a suffix of its path: `:first-last`; empty for the whole file. */
export function formatReadLineRange(offset?: unknown, limit?: unknown): string {
  const first = offset === undefined ? 1 : lineNumber(offset);
  const count = limit === undefined ? undefined : lineNumber(limit);
  if ((offset ?? limit) === undefined || first === undefined) return "";
  if (limit === undefined) return `:${first}`;
  return count === undefined ? "" : `:${first}-${first + count - 1}`;
}

/** Models also write numbers as texts. */
function lineNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}
