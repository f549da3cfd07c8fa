import type { BashExecutionMessage } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { oneLine } from "../../views/terminal-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Component, truncateToWidth } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { outputLines, shownLine, wrapped } from "./chat-text.ts";
import { type Masked, maskedLines } from "./tool-block.ts";

const fold = { head: 5, tail: 15 };

/** A command that the user ran by hand, with its output. */
export class CommandBlock extends ChatBlock {
  #message: BashExecutionMessage;
  #masked: Masked | undefined;

  constructor(message: BashExecutionMessage, looks: ChatLooks) {
    super(looks);
    this.#message = message;
  }

  set(message: BashExecutionMessage): void {
    this.#message = message;
    this.changed();
  }

  /** The model sees a placeholder, or a part; the user goes on seeing what is stored. */
  mask(how: Masked): void {
    this.#masked = how;
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const { command, output, excludeFromContext } = this.#message;
    const isHidden = this.#masked === "whole" && !this.isExpanded;
    const shown = isHidden || typeof output !== "string" ? "" : output;
    const draw = (part: readonly string[]) =>
      wrapped(this.cut(part.map(shownLine), width), width, style.toolOutput, "   ");
    const title = ` ${style.accent("$")} ${style.bold(oneLine(typeof command === "string" ? command : "?"))}`;
    return [
      truncateToWidth(title, width, "…"),
      ...(excludeFromContext === true
        ? wrapped(["The model does not see this."], width, style.dim, "   ")
        : []),
      ...maskedLines(this.#masked, { looks: this.looks, isExpanded: this.isExpanded, width }),
      ...this.folded(outputLines(shown), { fold, draw }),
      ...wrapped(commandEnd(this.#message), width, style.error, "   "),
    ];
  }
}

function commandEnd({ exitCode, cancelled, truncated, fullOutputPath }: BashExecutionMessage): string[] {
  const lines: string[] = [];
  if (cancelled === true) lines.push("Cancelled.");
  else if (typeof exitCode === "number" && exitCode !== 0) lines.push(`Exit code ${exitCode}.`);
  if (truncated === true && typeof fullOutputPath === "string")
    lines.push(`Full output: ${oneLine(fullOutputPath)}`);
  return lines;
}

const MAX_LINES = 10;
/** Of the end of the output; lines that are longer are cut at their beginning. */
const MAX_CHARS = 20_000;

/** The end of what a command has written so far. */
class LiveOutput implements Component {
  readonly #screen: Screen;
  readonly #command: string;
  #end = "";
  #shown: { width: number; lines: string[] } | undefined;

  constructor(screen: Screen, command: string) {
    this.#screen = screen;
    this.#command = oneLine(command);
  }

  add(text: string): void {
    this.#end = textTail(`${this.#end}${text}`, MAX_CHARS);
    this.#shown = undefined;
  }

  render(width: number): string[] {
    if (this.#shown?.width !== width) this.#shown = { width, lines: this.#lines(width) };
    return this.#shown.lines;
  }

  invalidate(): void {
    this.#shown = undefined;
  }

  #lines(width: number): string[] {
    const { style } = this.#screen.theme;
    const all = outputLines(this.#end);
    return [
      truncateToWidth(` ${style.accent("$")} ${style.bold(this.#command)}`, width, "…"),
      ...all
        .slice(-MAX_LINES)
        .map((line) => style.muted(truncateToWidth(`   ${shownLine(line)}`, width, "…"))),
    ];
  }
}

/** Shows what a command writes while it runs; what stays of it in the chat, others show. */
export async function withLiveOutput<Value>(
  screen: Screen,
  command: string,
  run: (onOutput: (text: string) => void) => Promise<Value>,
): Promise<Value> {
  const { chat } = screen;
  const live = new LiveOutput(screen, command);
  try {
    return await run((text) => {
      live.add(text);
      // Whoever builds the chat anew does not know of it.
      if (!chat.children.includes(live)) chat.addChild(live);
      screen.redraw();
    });
  } finally {
    chat.removeChild(live);
    screen.redraw();
  }
}
