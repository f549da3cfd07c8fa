import type { Agent, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";

/** Time between the last words of an answer and its end, which the user does not see. */
const graceMs = 300;
/** After the last answer, handlers may take a moment. */
const endingMs = 3_000;

const goingOn = ["agent_start", "turn_start", "tool_execution_start", "auto_compaction_start"] as const;
const beginnings = ["input", "user_bash", "session_before_tree"] as const;

/** Knows if a busy agent will be idle in a moment. */
export class GracePeriod {
  #isEnding = false;
  readonly #waiting = new Set<() => void>();

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    for (const name of goingOn) lifecycle.on(name, () => this.#goesOn());
    for (const name of beginnings)
      lifecycle.on(name, () => {
        this.#goesOn();
        return undefined;
      });
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role !== "assistant") return;
      this.#isEnding = !message.content.some(({ type }) => type === "toolCall");
    });
    lifecycle.on("agent_end", () => {
      this.#isEnding = true;
    });
  }

  /** True from a run's last answer on. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /**
   * Waits for an agent that is being stopped, or whose run is about to end.
   * @returns false for one that goes on
   */
  async soon(agent: Pick<Agent, "isBusy" | "signal" | "idle">): Promise<boolean> {
    if (!agent.isBusy) return true;
    if (agent.signal?.aborted === true) {
      await agent.idle();
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<false>();
    const leave = () => resolve(false);
    let timer = setTimeout(() => {
      if (this.#isEnding) timer = setTimeout(leave, endingMs - graceMs);
      else leave();
    }, graceMs);
    this.#waiting.add(leave);
    try {
      return await Promise.race([promise, agent.idle().then(() => true)]);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(leave);
    }
  }

  #goesOn(): void {
    this.#isEnding = false;
    for (const leave of this.#waiting) leave();
  }
}

/** Waits for a stopping agent: it would return a text that is sent earlier. */
export async function untilStopped(agent: () => Pick<Agent, "signal" | "idle">): Promise<void> {
  while (agent().signal?.aborted === true) await agent().idle();
}
