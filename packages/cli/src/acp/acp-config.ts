import type * as acp from "@agentclientprotocol/sdk";
import { compactionPresets } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { referenceOf, type ThinkingLevel, thinkingLevelsOf, usableModels } from "@bonsai-agent/models";
import type { AgentHost } from "../call/agent-host.ts";
import { readCallSettings } from "../call/settings.ts";

/** Tools of the mode that changes nothing. */
const READING_TOOLS = ["read", "grep", "find", "ls", "recall", "todo"];

const modes = {
  code: { name: "Code", description: "All tools" },
  read: { name: "Read only", description: "No tool that changes files or runs commands" },
};

type ModeId = keyof typeof modes;

/** Owner of the choices that a client offers beside the conversation. */
export class AcpConfig {
  readonly #host: AgentHost;
  #models: acp.SessionConfigSelectOption[] = [];
  #modeId: ModeId = "code";
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
    const availableModes = Object.entries(modes).map(([id, mode]) => ({ id, ...mode }));
    return { currentModeId: this.#modeId, availableModes };
  }

  get options(): acp.SessionConfigOption[] {
    const { agent, app } = this.#host;
    const { model, thinking } = agent.state;
    const current = referenceOf(model);
    const models = this.#models.some(({ value }) => value === current)
      ? this.#models
      : [{ value: current, name: model.name ?? model.id }, ...this.#models];
    const levels = thinkingLevelsOf(model);
    return [
      select({ id: "mode", name: "Mode", category: "mode" }, this.#modeId, modeOptions),
      select({ id: "model", name: "Model", category: "model" }, current, models),
      ...(levels.length > 1
        ? [select({ id: "thinking", name: "Thinking", category: "thought_level" }, thinking, named(levels))]
        : []),
      select(
        { id: "compaction", name: "Compaction", description: "When and how the context is compacted" },
        app.settings.compaction.preset,
        named(Object.keys(compactionPresets)),
      ),
    ];
  }

  /** @throws BonsaiError `acp_choice_unknown`, and the errors of an unknown model */
  async choose(id: string, value: unknown): Promise<void> {
    const option = this.options.find((each) => each.id === id);
    const values = option?.type === "select" ? (option.options as acp.SessionConfigSelectOption[]) : [];
    const isListed = values.some((each) => each.value === value);
    if (option === undefined || !(isListed || (id === "model" && typeof value === "string")))
      throw unknownChoice(
        `${id} = ${JSON.stringify(value)}`,
        values.map((each) => each.value),
      );
    const { agent, app } = this.#host;
    if (id === "mode") this.setMode(value as string);
    if (id === "model") await this.#host.setModel(value as string);
    if (id === "thinking") await agent.setThinking(value as ThinkingLevel);
    if (id !== "compaction") return;
    const options = { ...app.call.options, preset: value };
    app.settings = readCallSettings({ ...app.call, options });
    agent.setCompactionSettings(app.settings.compaction);
  }

  /** @throws BonsaiError `acp_choice_unknown` */
  setMode(id: string): void {
    if (!Object.hasOwn(modes, id)) throw unknownChoice(`mode = ${JSON.stringify(id)}`, Object.keys(modes));
    if (id === this.#modeId) return;
    this.#modeId = id as ModeId;
    const { tools } = this.#host.agent;
    if (id === "read") {
      this.#chosen = tools.chosen;
      tools.setActive(READING_TOOLS.filter((name) => tools.isActive(name)));
    } else tools.setActive(this.#chosen);
  }
}

const modeOptions = Object.entries(modes).map(([value, mode]) => ({ value, ...mode }));

function named(values: readonly string[]): acp.SessionConfigSelectOption[] {
  return values.map((value) => ({ value, name: value }));
}

function select(
  head: { id: string; name: string; category?: string; description?: string },
  currentValue: string,
  options: readonly acp.SessionConfigSelectOption[],
): acp.SessionConfigOption {
  return { type: "select", ...head, currentValue, options: [...options] };
}

function unknownChoice(choice: string, values: readonly string[]): BonsaiError {
  return new BonsaiError({
    /** A client of the Agent Client Protocol chose a mode or an option that the session does not have. */
    code: "acp_choice_unknown",
    message: `The session has no choice ${choice}.`,
    hint: values.length === 0 ? "Choose a listed option." : `Choose one of ${values.join(", ")}.`,
  });
}
