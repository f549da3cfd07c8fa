import type { Agent, Tool } from "@bonsai-agent/agent";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { type Registration, Registrations, type RegistrationsOptions } from "./registrations.ts";

export interface RegisteredTool {
  tool: ExtensionTool;
  forAgent: Tool;
}

/** Which tools an extension wants the model to be offered. */
interface Choice {
  names: readonly string[];
  /** All that there were by then: a tool that comes later is offered too. */
  known: ReadonlySet<string>;
}

/**
 * Owner of the tools of all extensions, of which tools extensions chose, and of their places in the agent that is
 * worked with.
 */
export class ExtensionTools {
  readonly #registrations: Registrations<RegisteredTool>;
  #choices: readonly Choice[] = [];
  #agent: Agent | undefined;
  #undos: (() => void)[] = [];
  /** What the agent offered before an extension chose, and what it offers for it now. */
  #chosen: { before: readonly string[] | undefined; now: readonly string[] } | undefined;

  constructor({ onConflict }: Pick<RegistrationsOptions<RegisteredTool>, "onConflict">) {
    this.#registrations = new Registrations({
      ...(onConflict === undefined ? {} : { onConflict }),
      onChange: () => this.#offer(),
    });
  }

  /** The function returned takes the tool out. */
  register(registration: Registration<RegisteredTool>): () => void {
    return this.#registrations.add(registration);
  }

  get(name: string): Registration<RegisteredTool> | undefined {
    return this.#registrations.get(name);
  }

  /** Offers the model only these, of the tools that there are. The function returned takes the choice back. */
  choose(names: readonly string[]): () => void {
    const choice = { names: [...names], known: new Set(this.#agent?.tools.names) };
    this.#choices = [...this.#choices, choice];
    this.#applyChoice();
    return () => {
      this.#choices = this.#choices.filter((other) => other !== choice);
      this.#applyChoice();
    };
  }

  /** Takes the tools out of the former agent and gives them to this one. Choices were about the former: they end. */
  attach(agent: Agent | undefined): void {
    this.#choices = [];
    this.#applyChoice();
    this.#withdraw();
    this.#agent = agent;
    this.#offer();
  }

  /** Anew after each change, so that the order is that of the registrations that are left. */
  #offer(): void {
    this.#withdraw();
    const agent = this.#agent;
    if (agent === undefined) return;
    this.#undos = this.#registrations.standing().map(({ value }) => agent.tools.register(value.forAgent));
    this.#applyChoice();
  }

  #withdraw(): void {
    for (const undo of this.#undos.reverse()) undo();
    this.#undos = [];
  }

  #applyChoice(): void {
    const tools = this.#agent?.tools;
    if (tools === undefined) return;
    const choice = this.#choices.at(-1);
    const former = this.#chosen;
    const isOurs = former !== undefined && tools.chosen === former.now;
    if (choice === undefined) {
      // Whoever chose after the extension, a user for instance, is not overruled.
      if (isOurs) tools.setActive(former.before);
      this.#chosen = undefined;
      return;
    }
    const { names, known } = choice;
    const now = tools.names.filter((name) => names.includes(name) || !known.has(name));
    this.#chosen = { before: isOurs ? former.before : tools.chosen, now };
    tools.setActive(now);
  }
}
