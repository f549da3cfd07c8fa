import type { BashExecutionMessage } from "@bonsai-agent/messages";
import { oneLine } from "../../views/printable.ts";
import { truncateToWidth } from "../terminal/tui.ts";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { wrapped } from "./chat-text.ts";
import { foldedLines, foldMark } from "./folded-lines.ts";
import { outputLines, shownLine } from "./output-lines.ts";

const fold = { head: 5, tail: 15 };

/** A command that the user ran by hand, with its output. */
export class CommandBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  #message: BashExecutionMessage;

  constructor(message: BashExecutionMessage, looks: ChatLooks) {
    super();
    this.#message = message;
    this.#looks = looks;
  }

  set(message: BashExecutionMessage): void {
    this.#message = message;
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.#looks.theme;
    const { command, output, excludeFromContext } = this.#message;
    const lines = outputLines(typeof output === "string" ? output : "");
    const { head, folded, tail } = this.isExpanded
      ? { head: lines, folded: 0, tail: [] }
      : foldedLines(lines, fold);
    const shown = (part: readonly string[]) =>
      wrapped(this.#cut(part.map(shownLine), width), width, style.muted, "   ");
    const title = ` ${style.accent("$")} ${style.bold(oneLine(typeof command === "string" ? command : "?"))}`;
    return [
      truncateToWidth(title, width, "…"),
      ...(excludeFromContext === true ? wrapped(["not in the model's view"], width, style.dim, "   ") : []),
      ...shown(head),
      ...(folded > 0 ? [`   ${style.dim(foldMark(folded, this.#looks.expandKey()))}`] : []),
      ...shown(tail),
      ...wrapped(commandEnd(this.#message), width, style.error, "   "),
    ];
  }

  #cut(lines: readonly string[], width: number): readonly string[] {
    if (this.isExpanded) return lines;
    return lines.map((line) => truncateToWidth(line.slice(0, width * 4), Math.max(1, width - 3), "…"));
  }
}

function commandEnd({ exitCode, cancelled, truncated, fullOutputPath }: BashExecutionMessage): string[] {
  const lines: string[] = [];
  if (cancelled === true) lines.push("Cancelled.");
  else if (typeof exitCode === "number" && exitCode !== 0) lines.push(`Exit code ${exitCode}.`);
  if (truncated === true && typeof fullOutputPath === "string")
    lines.push(`All of it is in ${oneLine(fullOutputPath)}`);
  return lines;
}
