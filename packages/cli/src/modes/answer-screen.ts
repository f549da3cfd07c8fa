import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { OutStream } from "../io.ts";
import { printable, printableLines } from "../views/printable.ts";

/** On a terminal, answers are shown as they come; elsewhere only the last is printed, when it is there. */
export class AnswerScreen {
  readonly isLive: boolean;
  readonly #stdout: OutStream;
  /** The first half of a character whose second half comes with the next piece. */
  #held = "";
  /** The last character shown, where the first of the next piece can be joined to it. */
  #before = "";
  #atLineStart = true;

  constructor(stdout: OutStream) {
    this.#stdout = stdout;
    this.isLive = stdout.isTTY === true;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    if (!this.isLive) return;
    lifecycle.on("message_update", ({ assistantMessageEvent: event }) => {
      if (event.type === "text") this.#show(event.delta);
      // A retry: what came before it is void.
      if (event.type === "start") this.endLine();
    });
    lifecycle.on("message_end", ({ message }) => {
      if (message.role === "assistant") this.end();
      return undefined;
    });
  }

  /** Something else is printed next. */
  endLine(): void {
    if (this.#atLineStart) return;
    this.#stdout.write("\n");
    this.#atLineStart = true;
  }

  /** The answer is complete. */
  end(): void {
    this.#held = "";
    this.#before = "";
    this.endLine();
  }

  #show(delta: string): void {
    const text = this.#held + delta;
    this.#held = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
    const ready = text.slice(0, text.length - this.#held.length);
    const shown = printableLines(this.#before + ready)
      .join("\n")
      .slice(this.#before.length);
    if (ready !== "") this.#before = joinable(ready);
    if (shown === "" || (this.#atLineStart && shown.trim() === "")) return;
    this.#stdout.write(shown);
    this.#atLineStart = shown.endsWith("\n");
  }
}

function joinable(text: string): string {
  const last = /[^\0-\x7f]$/u.exec(text)?.[0] ?? "";
  return printable(last) === last ? last : "";
}
