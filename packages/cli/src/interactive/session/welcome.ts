import { basename, dirname } from "node:path";
import { requestOverhead } from "@bonsai-agent/agent/host";
import type { AgentHost } from "../../call/agent-host.ts";
import { shownPath } from "../../call/paths.ts";
import { forkWords } from "../../views/session-facts.ts";
import { printable, truncate } from "../../views/terminal-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";

/**
 * Shows the first lines of an empty session, and one line for a fork. Without a model, the notice of the first run is the heading.
 * @param started resolves once skills, prompt templates and MCP servers are known
 */
export function welcome({ chat, host }: InteractiveContext, started: Promise<void>): void {
  const { agent, app } = host;
  const { parentSession } = agent.session.header;
  if (agent.session.leafId !== null && parentSession !== undefined) {
    const text = `This session is a ${forkWords(parentSession)}. The original is unchanged. /session shows the file of the original.`;
    chat.line({ text, look: "dim" });
  }
  if (agent.session.leafId !== null) return;
  const first = `bonsai ${app.call.version}. Type a task. /help shows commands and keys.`;
  const head = isNoModel(agent.model) ? [] : [first];
  let loaded = loadedAtOpening(host);
  const update = chat.line({
    text: (width) => [...head, ...loadedLines(loaded, width)].join("\n"),
    look: "dim",
  });
  void started.then(async () => {
    loaded = { ...loaded, ...(await loadedAtStart(host)) };
    update();
  });
}

export type Loaded = Readonly<Partial<Record<keyof typeof kinds, readonly string[]>>>;

/** In the order of the start screen. */
const kinds = {
  instructions: "Instructions",
  skills: "Skills",
  templates: "Prompt templates",
  extensions: "Extensions",
  servers: "MCP servers",
};

function loadedAtOpening({ agent, app }: AgentHost): Loaded {
  const { instructions } = requestOverhead({ systemPrompt: agent.systemPrompt, tools: [] });
  return {
    instructions: instructions.map(({ path }) => shownPath(path, app.cwd)),
    extensions: app.extensions.now.loaded.map(({ path }) => extensionName(path)),
  };
}

async function loadedAtStart({ app: { resources, extensions } }: AgentHost): Promise<Loaded> {
  const commands = await resources.commands();
  return {
    // The built-in skill is always there, so it is no news.
    skills: resources.skills.filter(({ place }) => place.from !== "bonsai").map(({ name }) => name),
    templates: commands.filter(({ source }) => source === "prompt").map(({ name }) => `/${name}`),
    servers: await mcpServers(extensions),
  };
}

/** The extension "mcp" completes `/mcp login NAME` with the names of its servers. */
async function mcpServers(extensions: AgentHost["app"]["extensions"]): Promise<string[]> {
  const completions = await extensions.now.completeCommand("mcp", "login ");
  return completions.map(({ label }) => label);
}

/** One line per kind, unless it has no names. Failures have notices of their own. */
export function loadedLines(loaded: Loaded, width: number): string[] {
  return Object.entries(kinds).flatMap(([kind, label]) => {
    const names = (loaded[kind as keyof typeof kinds] ?? []).map(printable);
    return names.length === 0 ? [] : [truncate(`${label}: ${names.join(", ")}`, width)];
  });
}

/** Folder names that do not describe their content. */
const BUILT = ["src", "dist", "lib", "build", "out"];

/** `todo` for `todo.ts`, `todo/index.ts` and `todo/dist/index.js`. */
export function extensionName(path: string): string {
  const name = basename(path).replace(/\.[^.]+$/, "");
  if (name !== "index") return name;
  const folder = dirname(path);
  return basename(BUILT.includes(basename(folder)) ? dirname(folder) : folder) || name;
}
