import type { Agent, Tool } from "@bonsai-agent/agent";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { type Registration, Registrations, type RegistrationsOptions } from "./registrations.ts";

export interface RegisteredTool {
  tool: ExtensionTool;
  forAgent: Tool;
}

/** Owner of the tools of all extensions, and of their places in the agent that is worked with. */
export class ExtensionTools {
  readonly #registrations: Registrations<RegisteredTool>;
  #agent: Agent | undefined;
  #undos: (() => void)[] = [];

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

  /** Takes the tools out of the former agent and gives them to this one. */
  attach(agent: Agent | undefined): void {
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
  }

  #withdraw(): void {
    for (const undo of this.#undos.reverse()) undo();
    this.#undos = [];
  }
}
