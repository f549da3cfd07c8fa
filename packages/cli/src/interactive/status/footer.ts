import type { AgentState } from "@bonsai-agent/agent";
import { count } from "../../views/numbers.ts";
import { type Component, truncateToWidth } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";

/** The line at the bottom: where, with which model, how full, what it cost. */
export class Footer implements Component {
  readonly #state: () => AgentState;
  readonly #theme: Theme;

  constructor(state: () => AgentState, theme: Theme) {
    this.#state = state;
    this.#theme = theme;
  }

  render(width: number): string[] {
    const { model, context } = this.#state();
    const text = `${model.provider}/${model.id}  ${count(context.tokens)} tokens`;
    return [this.#theme.style.dim(truncateToWidth(` ${text}`, width))];
  }

  invalidate(): void {}
}
