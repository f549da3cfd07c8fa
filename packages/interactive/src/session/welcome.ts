import { basename, dirname } from "node:path";
import type { AgentHost } from "@bonsai-agent/app/agent-host";
import { count } from "@bonsai-agent/app/numbers";
import { shownPath } from "@bonsai-agent/app/paths";
import { forkWords } from "@bonsai-agent/app/session-facts";
import { printable } from "@bonsai-agent/app/terminal-text";
import type { ChatView } from "../chat/chat-view.ts";
import { isNoModel } from "../no-model.ts";
import { instructionPaths } from "../slash/context-report.ts";

/** The first lines of an empty session, and one of a fork. Where there is no model, the first run has its own. */
export function welcome(chat: ChatView, { agent, app }: AgentHost): void {
  const { parentSession } = agent.session.header;
  if (agent.session.leafId !== null && parentSession !== undefined) {
    const words = `This session is a ${forkWords(parentSession)}; that one stays as it is. /session has its file.`;
    chat.line({ text: words, look: "dim" });
  }
  if (agent.session.leafId !== null || isNoModel(agent.model)) return;
  const paths = instructionPaths({ systemPrompt: agent.systemPrompt, tools: [] });
  const lines = loadedLines({
    instructions: paths.map((path) => shownPath(path, app.cwd)),
    extensions: app.extensions.loaded.map(({ path }) => extensionName(path)),
  });
  const first = `bonsai ${app.call.version} · say what to do; /help lists commands and keys`;
  chat.line({ text: [first, ...lines].join("\n"), look: "dim" });
}

/** What was loaded, a line for each kind that there is. What could not be is a notice of its own. */
export function loadedLines(loaded: {
  instructions: readonly string[];
  extensions: readonly string[];
}): string[] {
  const line = (words: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${words}: ${folded(names)}`];
  return [...line("instructions", loaded.instructions), ...line("extensions", loaded.extensions)];
}

/** One name is never folded alone. */
const MOST_NAMES = 5;

function folded(names: readonly string[]): string {
  if (names.length <= MOST_NAMES + 1) return names.map(printable).join(", ");
  const rest = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).map(printable).join(", ")} and ${count(rest)} more`;
}

/** Folders that say nothing of what is in them. */
const BUILT = ["src", "dist", "lib", "build", "out"];

/** Of `todo.ts`, `todo/index.ts` and `todo/dist/index.js`: `todo`. */
export function extensionName(path: string): string {
  const name = basename(path).replace(/\.[^.]+$/, "");
  if (name !== "index") return name;
  const folder = dirname(path);
  return basename(BUILT.includes(basename(folder)) ? dirname(folder) : folder) || name;
}
