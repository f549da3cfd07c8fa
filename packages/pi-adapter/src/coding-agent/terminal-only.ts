import { BonsaiError } from "@bonsai-agent/messages";

/** A class of pi's interactive mode. Extensions can derive from it; one is only made where a terminal is drawn on. */
export function terminalOnly(name: string): new () => object {
  const made = class {
    constructor() {
      throw new BonsaiError({
        code: "pi_terminal_only",
        message: `${name} is a part of pi's interactive mode, which Bonsai does not have.`,
        hint: 'Make it only where ctx.mode is "tui" and ctx.ui.custom draws it.',
      });
    }
  };
  Object.defineProperty(made, "name", { value: name });
  return made;
}
