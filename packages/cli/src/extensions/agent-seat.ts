import type { Agent } from "@bonsai-agent/agent";
import type { SessionControl } from "@bonsai-agent/extension";

/** Where extensions find who is at work: they are loaded before there is an agent, and stay when another comes. */
export class AgentSeat {
  agent: Agent | undefined;
  control: SessionControl | undefined;
  readonly #ending = new AbortController();

  /** Aborted when an extension asked for the end: nothing new is begun. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  shutdown(): void {
    this.#ending.abort();
  }
}
