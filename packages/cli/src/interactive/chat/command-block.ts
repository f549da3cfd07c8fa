import type { BashExecutionMessage } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { oneLine } from "../../views/terminal-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { truncateToWidth } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { outputLines, shownLine, wrapped } from "./chat-text.ts";

const fold = { head: 5, tail: 15 };

export class CommandBlock extends ChatBlock<Pick<ChatLooks, "theme">> {
  #message: BashExecutionMessage;

  constructor(message: BashExecutionMessage, looks: Pick<ChatLooks, "theme">) {
    super(looks);
    this.#message = message;
  }

  set(message: BashExecutionMessage): void {
    this.#message = message;
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const { command, output, excludeFromContext } = this.#message;
    const shown = this.hidesOutput || typeof output !== "string" ? "" : output;
    const draw = (part: readonly string[]) =>
      wrapped(this.cut(part.map(shownLine), width), width, style.toolOutput, "   ");
    const title = ` ${style.accent("$")} ${style.bold(oneLine(typeof command === "string" ? command : "?"))}`;
    return [
      truncateToWidth(title, width, "…"),
      ...(excludeFromContext === true
        ? wrapped(["The model does not see this."], width, style.dim, "   ")
        : []),
      ...this.maskedLines(width),
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

/** The kept end of a running command's output. */
const MAX_CHARS = 20_000;

/** Shows the output of a command while it runs. */
export async function withLiveOutput<Value>(
  screen: Screen,
  command: string,
  run: (onOutput: (text: string) => void) => Promise<Value>,
): Promise<Value> {
  const { chat, theme } = screen;
  let output = "";
  const message = {
    role: "bashExecution",
    command,
    cancelled: false,
    truncated: false,
    timestamp: 0,
  } as const;
  const live = new CommandBlock({ ...message, output }, { theme });
  try {
    return await run((text) => {
      output = textTail(`${output}${text}`, MAX_CHARS);
      live.set({ ...message, output });
      // A rebuild of the chat removes it.
      if (!chat.children.includes(live)) chat.addChild(live);
      screen.redraw();
    });
  } finally {
    chat.removeChild(live);
    screen.redraw();
  }
}
