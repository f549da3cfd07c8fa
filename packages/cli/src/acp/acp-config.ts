import type * as acp from "@agentclientprotocol/sdk";
import { compactionPresets } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { referenceOf, type ThinkingLevel, thinkingLevelsOf, usableModels } from "@bonsai-agent/models";
import type { AgentHost } from "../call/agent-host.ts";
import { readCallSettings } from "../call/settings.ts";

/** Tools of the mode that changes nothing. */
const READING_TOOLS = ["read", "grep", "find", "ls", "recall", "context", "todo"];

const modes = [
  { id: "code", name: "Code", description: "All tools" },
  { id: "read", name: "Read only", description: "No tools that change files or run commands" },
];

interface Choice extends acp.SessionConfigSelect {
  id: string;
  name: string;
  category?: string;
  options: acp.SessionConfigSelectOption[];
  set(value: string): unknown;
}

/** Owner of the choices that a client offers beside the conversation. */
export class AcpConfig {
  readonly #host: AgentHost;
  #models: acp.SessionConfigSelectOption[] = [];
  #modeId = "code";
  /** The tools before the mode that only reads. */
  #chosen: readonly string[] | undefined;

  constructor(host: AgentHost) {
    this.#host = host;
  }

  /** Asks servers for their models, so that `options` can list them. */
  async readModels(): Promise<void> {
    const usable = await usableModels(this.#host.app.models);
    this.#models = usable.map(({ model }) => ({ value: referenceOf(model), name: model.name ?? model.id }));
  }

  get modes(): acp.SessionModeState {
    return { currentModeId: this.#modeId, availableModes: modes };
  }

  get options(): acp.SessionConfigOption[] {
    return this.#choices.map(({ set: _set, ...choice }) => ({ type: "select", ...choice }));
  }

  get #choices(): Choice[] {
    const { agent, app } = this.#host;
    const { model, thinking } = agent.state;
    const current = referenceOf(model);
    const isListed = this.#models.some(({ value }) => value === current);
    const choices: Choice[] = [
      {
        ...{ id: "mode", name: "Mode", category: "mode", currentValue: this.#modeId },
        options: modes.map(({ id, ...mode }) => ({ value: id, ...mode })),
        set: (mode) => this.#setMode(mode),
      },
      {
        ...{ id: "model", name: "Model", category: "model", currentValue: current },
        options: [...(isListed ? [] : [{ value: current, name: model.name ?? model.id }]), ...this.#models],
        set: (reference) => this.#host.setModel(reference),
      },
      {
        ...{ id: "thinking", name: "Thinking", category: "thought_level", currentValue: thinking },
        options: named(thinkingLevelsOf(model)),
        set: (level) => agent.setThinking(level as ThinkingLevel),
      },
      {
        ...{ id: "compaction", name: "Compaction", currentValue: app.settings.compaction.preset },
        options: named(Object.keys(compactionPresets)),
        set: (preset) => this.#setPreset(preset),
      },
    ];
    return choices.filter(({ id, options }) => id !== "thinking" || options.length > 1);
  }

  /** @throws BonsaiError `acp_choice_unknown`, and the errors of an unknown model */
  async choose(id: string, value: string): Promise<void> {
    const choice = this.#choices.find((each) => each.id === id);
    const values = (choice?.options ?? []).map((option) => option.value);
    // Servers may not have listed all models yet.
    if (choice === undefined || (id !== "model" && !values.includes(value)))
      throw new BonsaiError({
        /** A client of the Agent Client Protocol chose a mode or an option that the session does not offer. */
        code: "acp_choice_unknown",
        message: `Cannot set ${id} = ${JSON.stringify(value)}: the session does not offer it.`,
        hint: values.length === 0 ? "Choose a listed option." : `Choose one of ${values.join(", ")}.`,
      });
    await choice.set(value);
  }

  #setMode(id: string): void {
    if (id === this.#modeId) return;
    this.#modeId = id;
    const { tools } = this.#host.agent;
    if (id === "read") {
      this.#chosen = tools.chosen;
      tools.setActive(READING_TOOLS.filter((name) => tools.isActive(name)));
    } else tools.setActive(this.#chosen);
  }

  #setPreset(preset: string): void {
    const { agent, app } = this.#host;
    app.settings = readCallSettings({ ...app.call, options: { ...app.call.options, preset } });
    agent.setCompactionSettings(app.settings.compaction);
  }
}

function named(values: readonly string[]): acp.SessionConfigSelectOption[] {
  return values.map((value) => ({ value, name: value }));
}
