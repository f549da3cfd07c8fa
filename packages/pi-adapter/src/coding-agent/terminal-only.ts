import { BonsaiError } from "@bonsai-agent/messages";

/** A class of pi's interactive mode. Extensions can derive from it, so that they load; none is ever made. */
export function terminalOnly(name: string): new () => object {
  const made = class {
    constructor() {
      throw new BonsaiError({
        code: "pi_terminal_only",
        message: `${name} is a part of pi's interactive mode, which Bonsai does not have.`,
        hint: "Show a component of pi-tui with ctx.ui.custom instead.",
      });
    }
  };
  Object.defineProperty(made, "name", { value: name });
  return made;
}
