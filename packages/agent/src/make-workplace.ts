import { CompactionController } from "@bonsai-agent/compaction";
import type { AgentOptions } from "./agent-options.ts";
import { defaultLifecycle } from "./events/default-lifecycle.ts";
import { Events } from "./events/events.ts";
import { fixedTexts } from "./fixed-context.ts";
import { modelNotice } from "./model-notice.ts";
import { ModelSelection } from "./model-selection.ts";
import { OwnWork } from "./own-work.ts";
import { Patience } from "./run/patience.ts";
import { InputQueue } from "./run/queue.ts";
import { SystemPromptInUse } from "./run/system-prompt-in-use.ts";
import { CachedPrefix } from "./summary/cached-prefix.ts";
import { modelSummariser } from "./summary/model-summariser.ts";
import { ToolRegistry } from "./tool-registry.ts";
import type { Workplace } from "./workplace.ts";

/** Puts the rooms of one agent together. */
export function makeWorkplace(options: AgentOptions): Workplace {
  const { session, models, settings, onNotice = () => {}, now = Date.now } = options;
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  const patience = new Patience();
  const ownWork = new OwnWork();
  const events = new Events(lifecycle, patience, ownWork);
  const { model, systemPrompt: prompt } = options;
  const selection = new ModelSelection({ session, models, events, model, thinking: settings.thinking });
  const tools = toolRegistry(options);
  const prefix = new CachedPrefix();
  const summariser = modelSummariser({
    models,
    selection,
    session,
    prefix,
    now,
    onNotice: (notice) => onNotice(modelNotice(notice)),
  });
  const controller = new CompactionController({
    session,
    get settings() {
      return work.settings.compaction;
    },
    lifecycle: events.forCompaction,
    model: () => selection.model,
    summariser,
    fixedTexts: () => work.fixedTexts(),
    isSubAgent: options.isSubAgent ?? false,
    onWarning: ({ code, message, hint }) =>
      onNotice({ level: "warning", code, message: `${message} ${hint}` }),
  });
  const systemPrompt = new SystemPromptInUse(
    typeof prompt === "string" ? () => prompt : () => prompt(tools.activeTools()),
  );
  const queue = new InputQueue();
  const work: Workplace = {
    session,
    events,
    patience,
    ownWork,
    models,
    settings,
    tools,
    queue,
    selection,
    prefix,
    summariser,
    controller,
    systemPrompt,
    fixedTexts: fixedTexts(() => ({ systemPrompt: systemPrompt.current, tools: tools.declarations() })),
    confirmLongRun: options.confirmLongRun,
    onNotice,
    now,
  };
  return work;
}

function toolRegistry({ tools, settings }: AgentOptions): ToolRegistry {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  registry.setActive(settings.tools);
  return registry;
}
