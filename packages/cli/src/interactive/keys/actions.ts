import type { KeyId } from "../terminal/tui.ts";

/** What a key can do. */
export interface Action {
  readonly keys: readonly KeyId[];
  readonly description: string;
  /** The library's own binding that this is another name for. */
  readonly binding?: string;
}

const table = {
  submit: { keys: ["enter"], description: "Send", binding: "tui.input.submit" },
  newLine: { keys: ["shift+enter", "ctrl+j"], description: "New line", binding: "tui.input.newLine" },
  interrupt: { keys: ["escape"], description: "Stop what is going on" },
  tree: { keys: [], description: "Session tree (also twice the key that stops, in an empty editor)" },
  clearOrQuit: { keys: ["ctrl+c"], description: "Clear the editor; twice: end bonsai" },
  quit: { keys: ["ctrl+d"], description: "End bonsai, in an empty editor" },
  expand: { keys: ["ctrl+o"], description: "Show or fold tool output, thinking and summaries" },
  cycleThinking: { keys: ["shift+tab"], description: "Next thinking level" },
  pickModel: { keys: ["ctrl+l"], description: "Pick a model" },
  queueFollowUp: { keys: ["alt+enter"], description: "Send once the agent has ended" },
  takeBackQueued: { keys: ["alt+up"], description: "Queued messages back into the editor" },
  externalEditor: { keys: ["ctrl+g"], description: "Write in $VISUAL or $EDITOR" },
  suspend: { keys: ["ctrl+z"], description: "Suspend bonsai" },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof table;

/** The actions of the interactive mode, in the order of /help. */
export const actions: Readonly<Record<ActionName, Action>> = table;

export const actionNames = Object.keys(table) as ActionName[];
