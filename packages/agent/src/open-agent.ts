import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import { SearchThread } from "@bonsai-agent/session/search";
import { Agent } from "./agent.ts";
import { contextTool } from "./context-tool.ts";
import { defaultLifecycle, type LifecycleEvents } from "./lifecycle.ts";
import { SessionListing } from "./listing/session-listing.ts";
import type { AgentNotice } from "./notice.ts";
import { InstructionFiles } from "./prompt/instruction-files.ts";
import { type GivenPrompt, skillTokens, systemPrompt } from "./prompt/system-prompt.ts";
import { recallTool } from "./recall/recall-tool.ts";
import type { Skill } from "./resources/skills.ts";
import type { AgentOptions } from "./run/agent-parts.ts";
import { reportRunningWork } from "./run/running-work.ts";
import type { AgentSettings } from "./settings.ts";
import { taskTool } from "./task-tool.ts";
import { builtinTools } from "./tools/builtin-tools.ts";
import type { EditorFiles } from "./tools/files/open-file.ts";
import type { ConfirmPath } from "./tools/path-guard.ts";
import type { CommandOperations } from "./tools/shell-command.ts";
import type { Tool } from "./tools/tool-registry.ts";

/** Options of an agent with the built-in tools. Sub-agents have the same, except `expandInput`, `confirmMoreRequests`, `reviewCompaction` and `durability`. */
export interface OpenAgentOptions
  extends Pick<
    AgentOptions,
    | "session"
    | "settings"
    | "models"
    | "model"
    | "lifecycle"
    | "durability"
    | "excludedTools"
    | "onNotice"
    | "expandInput"
    | "confirmMoreRequests"
    | "reviewCompaction"
    | "isSubAgent"
  > {
  /** The project: tools work here, and Bonsai looks for project instructions here. Absolute. */
  cwd: string;
  /** The folder of Bonsai's own files. Default: `bonsaiHome()`. */
  home?: string;
  /** A cheap model for titles and session summaries. Default: the digest, no request. */
  smallModel?: CatalogueModel;
  /** The user's parts of the system prompt. Default: it is Bonsai's own. */
  givenPrompt?: GivenPrompt;
  /** Listed in the system prompt; the model can read their folders. A function is called at each run. Default: none. */
  skills?: readonly Skill[] | (() => readonly Skill[]);
  /** More tools; a tool with the name of a built-in one replaces it. */
  tools?: readonly Tool[];
  /** Asks about paths outside the project. Default: refuses them. */
  confirmPath?: ConfirmPath;
  /** Reads and writes text files for the tools. Default: the disk. */
  editor?: EditorFiles | undefined;
  /** Runs the commands of the bash tool. Default: a shell of this machine. */
  commands?: CommandOperations | undefined;
}

/** Opens an agent with the built-in tools, the task tool, the project's instructions and the system prompt. */
export async function openAgent(options: OpenAgentOptions): Promise<Agent> {
  const { session, cwd, home = bonsaiHome(), settings, models, model, onNotice = () => {} } = options;
  const { isSubAgent = false, excludedTools, expandInput, confirmMoreRequests, reviewCompaction } = options;
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  // The parent of a sub-agent has notified of its instructions.
  const instructions = await InstructionFiles.open(
    { cwd, home, fileNames: settings.instructionFiles },
    isSubAgent ? () => {} : onNotice,
  );
  const search = new SearchThread({
    ...{ home, index: settings.index.enabled },
    onNotice: (notice) => onNotice({ level: "warning", ...notice }),
  });
  const { skills = [] } = options;
  const currentSkills = typeof skills === "function" ? skills : () => skills;
  // The day of the start: the prompt stays the same for the provider's cache.
  const date = new Date().toISOString().slice(0, 10);
  const fixed = { cwd, given: options.givenPrompt, platform: process.platform, date };
  // A sub-agent does not report processes; its parent does.
  const stopReporting = isSubAgent ? () => {} : reportRunningWork(lifecycle, session);
  const agent: Agent = new Agent({
    ...{ session, models, model, settings, cwd, lifecycle, excludedTools, isSubAgent, onNotice },
    ...(isSubAgent
      ? {}
      : { expandInput, confirmMoreRequests, reviewCompaction, durability: options.durability }),
    tools: toolsFor(options, lifecycle, { instructions, search, skills: currentSkills, parent: () => agent }),
    instructions,
    systemPrompt: (tools) =>
      systemPrompt({
        ...{ ...fixed, tools, instructions: instructions.inPrompt, skills: currentSkills() },
        skillTokens: skillTokens(agent.model.contextWindow),
      }),
    followers: isSubAgent ? [] : [new SessionListing({ ...options, lifecycle, onNotice })],
    onClose: () => {
      search.close();
      stopReporting();
    },
  });
  // A sub-agent lacks `task` on purpose, and its parent has notified of the others.
  if (!isSubAgent) reportUnknownTools(agent, settings, onNotice);
  return agent;
}

interface OwnParts {
  instructions: InstructionFiles;
  search: SearchThread;
  skills: () => readonly Skill[];
  parent: () => Agent;
}

function toolsFor(
  options: OpenAgentOptions,
  lifecycle: Lifecycle<LifecycleEvents>,
  { instructions, search, skills, parent }: OwnParts,
): readonly Tool[] {
  const { session, cwd, home = bonsaiHome(), settings, models, confirmPath, editor, tools = [] } = options;
  const builtin = builtinTools({
    // The prompt names instructions and skills by path.
    ...{ cwd, paths: settings.paths, confirmPath, editor },
    bash: { ...settings.bash, operations: options.commands },
    secrets: () => models.secrets(),
    readable: () => [
      ...instructions.current.filter(({ text }) => text !== "").map(({ path }) => path),
      ...skills().flatMap(({ readable }) => readable ?? []),
    ],
  });
  const recall = settings.recall.enabled
    ? [recallTool({ session, home, settings: settings.recall, search })]
    : [];
  if (options.isSubAgent) return [...builtin, ...recall, ...tools];
  const context = contextTool(parent);
  const task = taskTool({
    session,
    lifecycle,
    startAgent: (own) =>
      openAgent({ ...options, ...own, ...asNow(parent(), [task, context, ...recall]), isSubAgent: true }),
  });
  return [...builtin, task, ...recall, context, ...tools];
}

/** The parent's current model, settings and tools: if it may not write, its sub-agents may not either. */
function asNow(parent: Agent, own: readonly Tool[]): Pick<OpenAgentOptions, "model" | "settings" | "tools"> {
  const names = parent.tools.active.filter((name) => name !== "task");
  // A sub-agent has its own tools for its session.
  const tools = parent.tools.activeTools().filter((tool) => !own.includes(tool));
  const { thinking } = parent.state;
  return { model: parent.model, tools, settings: { ...parent.settings, thinking, tools: names } };
}

function reportUnknownTools(
  { tools }: Agent,
  settings: AgentSettings,
  onNotice: (notice: AgentNotice) => void,
): void {
  const unknown = (settings.tools ?? []).filter((name) => !tools.names.includes(name));
  if (unknown.length === 0) return;
  onNotice({
    level: "warning",
    code: "tools_unknown",
    message: `--tools or the setting tools lists unknown tools: ${unknown.join(", ")}. Available tools: ${tools.names.join(", ")}.`,
  });
}
