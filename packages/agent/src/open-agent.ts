import type { ReviewCompaction } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { SearchThread } from "@bonsai-agent/session/search";
import { Agent } from "./agent.ts";
import { defaultLifecycle, type LifecycleEvents } from "./lifecycle.ts";
import { SessionBlurbs } from "./listing/session-blurb.ts";
import { SessionTitles } from "./listing/session-title.ts";
import type { AgentNotice } from "./notice.ts";
import { InstructionFiles } from "./prompt/instruction-files.ts";
import { type GivenPrompt, systemPrompt } from "./prompt/system-prompt.ts";
import { recallTool } from "./recall/recall-tool.ts";
import { MAX_SKILL_TOKENS, SKILLS_WINDOW_SHARE } from "./resources/skill-section.ts";
import type { Skill } from "./resources/skills.ts";
import type { ConfirmLongRun, ExpandInput, RunFollower } from "./run/queue.ts";
import { commandRunner } from "./run/user-command.ts";
import type { AgentSettings } from "./settings.ts";
import { builtinTools } from "./tools/builtin-tools.ts";
import type { ConfirmPath } from "./tools/path-guard.ts";
import { taskTool } from "./tools/task-tool.ts";
import type { Tool } from "./tools/tool-registry.ts";

/** An agent with all that is built in. */
export interface OpenAgentOptions {
  /** What it works in, and stores everything in. */
  session: Session;
  /** The project: where tools work and project instructions are looked for. Absolute. */
  cwd: string;
  /** Where Bonsai's own files are. Default: `bonsaiHome()`. */
  home?: string;
  /** As `agentSettings` gives them. */
  settings: AgentSettings;
  /** Who asks models. */
  models: ModelClient;
  /** The model to work with; what the session was last worked on with is not looked at. */
  model: CatalogueModel;
  /** A cheap model for titles and session summaries. Default: the digest, no request. */
  smallModel?: CatalogueModel;
  /** Default: one without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  /** What the user has of the system prompt. Default: it is Bonsai's own. Sub-agents have the same. */
  givenPrompt?: GivenPrompt;
  /**
   * Those that the user, packages and a trusted project have, as `readSkills` gives them: the system prompt names them, and
   * their folders can be read. A function is asked at each run. Default: none. Sub-agents have the same.
   */
  skills?: readonly Skill[] | (() => readonly Skill[]);
  /** Beside the built-in ones; one of the same name takes their place. */
  tools?: readonly Tool[];
  /** Names of tools that the model is never offered, not by a sub-agent either. Default: none. */
  excludedTools?: readonly string[];
  /** Must not throw. */
  onNotice?: (notice: AgentNotice) => void;
  /** Asks about paths beyond the project. Default: they are refused. */
  confirmPath?: ConfirmPath;
  /** Expands what calls a template or a skill. Default: each text is sent as it stands. Not for sub-agents. */
  expandInput?: ExpandInput;
  /**
   * Asks whether a run may go on that has made `limits.runRequests` requests. Default: it ends. Sub-agents do not ask:
   * theirs ends, and their parent gets the error.
   */
  confirmLongRun?: ConfirmLongRun;
  /** Decides on compactions before they are written, as in `AgentOptions`. Those of sub-agents are made at once. */
  reviewCompaction?: ReviewCompaction;
  /** A sub-agent has no threshold compaction, no sub-agents of its own, and gets no title. Default false. */
  isSubAgent?: boolean;
}

/** An agent with the built-in tools, the task tool, the project's instructions and the system prompt. */
export async function openAgent(options: OpenAgentOptions): Promise<Agent> {
  const { session, cwd, home = bonsaiHome(), settings, models, model, onNotice = () => {} } = options;
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  // Its parent has notified of them.
  const onInstructions = options.isSubAgent ? () => {} : onNotice;
  const fileNames = settings.instructionFiles;
  const instructions = await InstructionFiles.open({ cwd, home, fileNames }, onInstructions);
  const skills = skillsOf(options);
  const date = new Date().toISOString().slice(0, 10);
  const search = new SearchThread({
    ...{ home, index: settings.index.enabled },
    onNotice: (notice) => onNotice({ level: "warning", ...notice }),
  });
  const agent: Agent = new Agent({
    session,
    models,
    model,
    settings,
    lifecycle,
    tools: toolsFor(options, lifecycle, { instructions, search, parent: () => agent }),
    excludedTools: options.excludedTools,
    renewPrompt: () => instructions.renew(),
    systemPrompt: (tools) =>
      systemPrompt({
        cwd,
        tools,
        instructions: instructions.current,
        skills: skills(),
        skillTokens: skillTokens(agent),
        date,
        platform: process.platform,
        given: options.givenPrompt,
      }),
    runCommand: commandRunner({ cwd, secrets: () => models.secrets() }),
    followers: followersFor(options, lifecycle),
    isSubAgent: options.isSubAgent ?? false,
    expandInput: options.isSubAgent ? undefined : options.expandInput,
    confirmLongRun: options.isSubAgent ? undefined : options.confirmLongRun,
    reviewCompaction: options.isSubAgent ? undefined : options.reviewCompaction,
    onNotice,
    onClose: () => search.close(),
  });
  // A sub-agent lacks `task` on purpose, and its parent has notified of the others.
  if (!options.isSubAgent) reportUnknownTools(agent, settings, onNotice);
  return agent;
}

function skillsOf({ skills = [] }: OpenAgentOptions): () => readonly Skill[] {
  return typeof skills === "function" ? skills : () => skills;
}

/** A share of the window, up to a limit. */
function skillTokens({ model: { contextWindow } }: Agent): number {
  if (!contextWindow) return MAX_SKILL_TOKENS;
  return Math.min(MAX_SKILL_TOKENS, Math.floor(contextWindow * SKILLS_WINDOW_SHARE));
}

/** What the prompt names beyond the project: of instructions it may have only the beginning, of skills it has the name. */
function readablePaths({ current }: InstructionFiles, skills: readonly Skill[]): string[] {
  const folders = skills.flatMap(({ readable }) => (readable === undefined ? [] : [readable]));
  return [...current.filter(({ text }) => text !== "").map(({ path }) => path), ...folders];
}

function toolsFor(
  options: OpenAgentOptions,
  lifecycle: Lifecycle<LifecycleEvents>,
  {
    instructions,
    search,
    parent,
  }: { instructions: InstructionFiles; search: SearchThread; parent: () => Agent },
): readonly Tool[] {
  const { session, cwd, home = bonsaiHome(), settings, models, confirmPath, isSubAgent = false } = options;
  const { tools = [] } = options;
  const { paths, bash } = settings;
  const builtin = builtinTools({
    cwd,
    paths,
    readable: () => readablePaths(instructions, skillsOf(options)()),
    bash,
    secrets: () => models.secrets(),
    confirmPath,
  });
  const recall = settings.recall.enabled
    ? [recallTool({ session, home, settings: settings.recall, search })]
    : [];
  if (isSubAgent) return [...builtin, ...recall, ...tools];
  const task = taskTool({
    session,
    lifecycle,
    startAgent: (own) => {
      return openAgent({ ...options, ...own, ...asNow(parent(), [task, ...recall]), isSubAgent: true });
    },
  });
  return [...builtin, task, ...recall, ...tools];
}

/** What a sub-agent takes over of its parent, as it is by then: who may not write has no sub-agent that may. */
function asNow(parent: Agent, own: readonly Tool[]): Pick<OpenAgentOptions, "model" | "settings" | "tools"> {
  const names = parent.tools.active.filter((name) => name !== "task");
  // Those that are about the parent's session are made anew.
  const tools = parent.tools.activeTools().filter((tool) => !own.includes(tool));
  const { thinking } = parent.state;
  return { model: parent.model, tools, settings: { ...parent.settings, thinking, tools: names } };
}

function followersFor(
  { session, models, settings, smallModel, onNotice = () => {}, isSubAgent = false }: OpenAgentOptions,
  lifecycle: Lifecycle<LifecycleEvents>,
): RunFollower[] {
  if (isSubAgent) return [];
  const common = { session, models, smallModel, onNotice };
  const blurbs = new SessionBlurbs(common);
  return settings.titles ? [new SessionTitles({ ...common, lifecycle }), blurbs] : [blurbs];
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
